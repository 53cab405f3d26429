"""Commands `compare`, `gate`, `history` and `baseline`: runs held against one another."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, get_args

import typer

from harness.cli.options import (
    COMPARE,
    CommandGroup,
    Format,
    Json,
    Junit,
    Metrics,
    RunFolder,
    print_json,
)
from harness.errors import HarnessError, one_of

if TYPE_CHECKING:
    from harness.comparison.gate.gate_verdicts import GateResult

commands = typer.Typer()
baseline_commands = typer.Typer(
    cls=CommandGroup,
    help="Promote a run to what later ones are held against.",
    no_args_is_help=True,
)
_SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
_MAX_SUMMARY_BYTES = 1_000_000
"""GitHub takes no summary of over 1 MiB from one step."""


@commands.command(rich_help_panel=COMPARE)
def compare(
    baseline: Annotated[
        str, typer.Argument(metavar="BASELINE", help="a run's folder, or a baseline")
    ],
    run: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="a run's folder; none: cells of BASELINE")
    ] = None,
    metrics: Metrics = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--pair", metavar="A=B", help="a cell of BASELINE and one of RUN; may be given again"
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="compare what is shared though it differs: testset, corpus or metrics"),
    ] = None,
    test: Annotated[
        str, typer.Option(help="for graded scores: sign-flip, wilcoxon or t")
    ] = "sign-flip",
    correction: Annotated[
        str | None,
        typer.Option(help="holm, or bh for the false discovery rate; else max-T"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="where the pages are written; else the run's folder")
    ] = None,
    fail_on_regression: Annotated[
        bool,
        typer.Option("--fail-on-regression", help="exit 1 if a metric is shown to be worse"),
    ] = False,
    format_: Format = None,
    json: Json = False,
) -> None:
    """Compare a run with a baseline, question by question: what is shown, and how sure it is.

    Writes compare-<baseline>.html and .md. With RUN left out, cells of one run are compared.
    """
    from harness.comparison.baselines.baseline_reader import load_operands
    from harness.comparison.compare_runs import Options, compare_operands
    from harness.comparison.refusals import Allowed
    from harness.report import comparison, run_index, table_formats, terminal
    from harness.report.comparison_blocks import blocks, tables
    from harness.report.document import Paragraph
    from harness.stats.corrections import Correction
    from harness.stats.difference_estimate import MeanTest

    options = Options(
        metrics=metrics or (),
        pairs=pairs or (),
        allow=[one_of(name, "--allow", get_args(Allowed)) for name in allow or ()],
        test=one_of(test, "--test", get_args(MeanTest)),
        correction=None
        if correction is None
        else one_of(correction, "--correction", get_args(Correction)),
    )
    form = table_formats.check_format(format_, json)
    result = compare_operands(*load_operands(baseline, run), options)
    folder = out or run or Path(baseline)
    try:
        page, text = comparison.write(result, folder)
        run_index.refresh(folder.absolute().parent)
    except OSError as error:
        raise HarnessError(
            f"{str(folder)!r} cannot be written: {error.strerror or error}\n"
            f"  name another folder: --out FOLDER"
        ) from None
    append_summary(text.read_text(encoding="utf-8"))
    if form is not None:
        print(table_formats.render(tables(result), form))
    elif json:
        print_json(comparison.as_dict(result))
    else:
        pages = [Paragraph(str(path), "path") for path in (page, text)]
        terminal.show([*blocks(result), *pages])
    if fail_on_regression and result.worse:
        raise typer.Exit(1)


@commands.command(rich_help_panel=COMPARE)
def gate(
    folder: RunFolder,
    baseline: Annotated[
        str | None, typer.Option(help="a baseline's name or file; else the one the gate names")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="a configuration whose gate is used; else the run's own")
    ] = None,
    junit: Junit = None,
    json: Json = False,
) -> None:
    """Judge a stored run by the rules of its gate: exit 0 passed, 1 failed, 3 cannot be judged."""
    from harness.comparison.gate import judge_run
    from harness.config.run_config import load
    from harness.report import gate as document
    from harness.report import terminal

    rules = None if config is None else judge_run.require_gate(load(config))

    def show(result: GateResult) -> None:
        if json:
            print_json(document.as_dict(result))
        else:
            terminal.show(document.blocks(result))

    _judge_and_exit(lambda: judge_run.judge_run(folder, rules, baseline), folder, junit, show)


def end_by_gate(
    result: GateResult, folder: Path, junit: Path | None, out: TextIO | None = None
) -> None:
    """End with the exit status of the gate of a run; show what it came to in `out`, if given."""
    from harness.comparison.operand import Incomparable
    from harness.report import gate as document
    from harness.report import terminal

    def show(result: GateResult) -> None:
        if out is not None:
            terminal.show(document.blocks(result), out)

    def judged() -> GateResult:
        if result.problem:
            raise Incomparable(result.problem)
        return result

    _judge_and_exit(judged, folder, junit, show)


def _judge_and_exit(
    judge: Callable[[], GateResult],
    folder: Path,
    junit: Path | None,
    show: Callable[[GateResult], None],
) -> None:
    """Show what a gate came to, write it for CI servers, and end with its exit status."""
    from harness.report import gate as document
    from harness.report import markdown

    with report_refusals(folder.absolute().name, junit):
        result = judge()
    show(result)
    unwritten = _write_junit(junit, document.junit(result))
    append_summary(markdown.render_blocks(document.blocks(result), top=3))
    if result.status or unwritten:
        raise typer.Exit(result.status or unwritten)


@contextmanager
def report_refusals(name: str, junit: Path | None) -> Iterator[None]:
    """Also write for CI servers that a run could not be judged, where an error says so."""
    from harness.report import gate as document
    from harness.report import markdown

    try:
        yield
    except HarnessError as error:
        _write_junit(junit, document.junit_not_judged(name, str(error)))
        blocks = document.blocks_not_judged(name, str(error))
        append_summary(markdown.render_blocks(blocks, top=3))
        raise


def _write_junit(junit: Path | None, text: str) -> int:
    """Write the file for CI servers; where it cannot be, say so and return that exit status."""
    from harness.files import new_files

    try:
        if junit is not None:
            new_files.write_file(junit, text)
    except HarnessError as error:
        print(f"--junit: {error}", file=sys.stderr)
        return error.status
    return 0


def append_summary(markdown: str, environment: Mapping[str, str] = os.environ) -> None:
    """Append Markdown to the job summary of GitHub Actions, where there is one.

    Where it cannot be written that is said on stderr: it changes nothing of what was found.
    """
    name = environment.get(_SUMMARY_VARIABLE)
    if not name:
        return
    data = markdown.encode("utf-8", "replace")
    if len(data) > _MAX_SUMMARY_BYTES:
        start = data[:_MAX_SUMMARY_BYTES].decode("utf-8", "ignore").rpartition("\n")[0]
        data = f"{start}\n\n(cut: it is longer than a summary may be)\n".encode()
    try:
        with Path(name).open("ab") as file:
            file.write(data + b"\n")
    except (OSError, ValueError) as error:
        print(f"{_SUMMARY_VARIABLE} cannot be written: {error}", file=sys.stderr)


@commands.command(rich_help_panel=COMPARE)
def history(
    reports: Annotated[
        Path, typer.Argument(metavar="REPORTS", help="the folder that holds the runs")
    ] = Path("reports"),
    metrics: Metrics = None,
    cells: Annotated[
        list[str] | None,
        typer.Option(
            "--cell", "-c", help="a cell, or part of its name; may be given several times"
        ),
    ] = None,
    every_night: Annotated[
        bool,
        typer.Option(
            "--every-night", help="read each night: at most 5 % false calls over all nights"
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Show each metric over time, and where it shifted: history.html beside the runs."""
    from harness.comparison.history.series import history as over_time
    from harness.report import history as document
    from harness.report import run_index, terminal

    series = over_time(reports, metrics or (), cells or (), every_night=every_night)
    if json:
        print_json(document.as_dict(series))
        return
    pages = document.write(series)
    with suppress(OSError):  # the list of runs is another's matter
        run_index.refresh(reports)
    terminal.show(document.blocks(series, pages))


@baseline_commands.command("set")
def baseline_set(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="a run's folder; of several the means are kept"),
    ],
    name: Annotated[str, typer.Option(help="what it is called")] = "main",
    cell: Annotated[str | None, typer.Option(help="the one cell to keep; else all")] = None,
    why: Annotated[str, typer.Option(help="why, for whoever reads it later")] = "",
    force: Annotated[
        bool, typer.Option("--force", help="though the run has failures, or did not finish")
    ] = False,
) -> None:
    """Make finished runs the baseline of a name: writes baselines/NAME.json, for git."""
    from harness.comparison.baselines import promotion
    from harness.report import baselines, terminal

    baseline = promotion.promote(folders, name, cell, why, force)
    terminal.show(baselines.promotion_blocks(baseline))


@baseline_commands.command("show")
def baseline_show(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="a name, or a file")] = "main",
    json: Json = False,
) -> None:
    """Show a baseline: who promoted which run, when and why, and what it scored."""
    from harness.comparison.baselines import baseline_reader
    from harness.report import baselines, terminal

    baseline = baseline_reader.read(name)
    if json:
        print_json(baselines.as_dict(baseline))
    else:
        terminal.show(baselines.blocks(baseline))


@baseline_commands.command("ls")
def baseline_ls(json: Json = False) -> None:
    """List the baselines there are."""
    from harness.comparison.baselines import baseline_reader
    from harness.report import baselines, terminal

    there = baseline_reader.read_all()
    if json:
        print_json(baselines.list_as_data(there))
    else:
        terminal.show(baselines.list_blocks(there))
