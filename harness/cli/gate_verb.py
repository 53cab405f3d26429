"""Command `gate`: judges a stored run by its rules; `run` does so at its end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from harness.cli.options import Json, Junit

if TYPE_CHECKING:
    from harness.comparison.gate.gate_verdicts import GateResult

commands = typer.Typer()


@commands.command()
def gate(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")],
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
            print(dumps(document.as_dict(result), indent=1, ensure_ascii=False))
        else:
            terminal.show(document.blocks(result))

    judge_and_exit(lambda: judge_run.judge_run(folder, rules, baseline), folder, junit, show)


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

    judge_and_exit(judged, folder, junit, show)


def judge_and_exit(
    judge: Callable[[], GateResult],
    folder: Path,
    junit: Path | None,
    show: Callable[[GateResult], None],
) -> None:
    """Show what a gate came to, write it for CI servers, and end with its exit status."""
    from harness.cli import github_summary
    from harness.report import gate as document
    from harness.report import markdown

    with report_refusals(folder.absolute().name, junit):
        result = judge()
    show(result)
    unwritten = _write_junit(junit, document.junit(result))
    summary = markdown.render_blocks(document.blocks(result), top=3)
    github_summary.append_summary(summary, partial(print, file=sys.stderr))
    if result.status or unwritten:
        raise typer.Exit(result.status or unwritten)


@contextmanager
def report_refusals(name: str, junit: Path | None) -> Iterator[None]:
    """Also write for CI servers that a run could not be judged, where an error says so."""
    from harness.cli import github_summary
    from harness.errors import HarnessError
    from harness.report import gate as document
    from harness.report import markdown

    try:
        yield
    except HarnessError as error:
        _write_junit(junit, document.junit_not_judged(name, str(error)))
        summary = markdown.render_blocks(document.blocks_not_judged(name, str(error)), top=3)
        github_summary.append_summary(summary, partial(print, file=sys.stderr))
        raise


def _write_junit(junit: Path | None, text: str) -> int:
    """Write the file for CI servers; where it cannot be, say so and return that exit status."""
    from harness.errors import HarnessError
    from harness.files import new_files

    try:
        if junit is not None:
            new_files.write_file(junit, text)
    except HarnessError as error:
        print(f"--junit: {error}", file=sys.stderr)
        return error.status
    return 0
