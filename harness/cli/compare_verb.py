"""Command `compare`: a run against a baseline, or cells of one run against each other."""

from __future__ import annotations

import sys
from functools import partial
from json import dumps
from pathlib import Path
from typing import Annotated, get_args

import typer

from harness.cli.options import Format, Json, Metrics
from harness.errors import HarnessError, one_of

commands = typer.Typer()


@commands.command()
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
    from harness.cli import github_summary
    from harness.comparison.baselines.baseline_reader import load_operands
    from harness.comparison.compare_runs import Options, compare_operands
    from harness.comparison.refusals import Allowed
    from harness.report import run_index, table_formats, terminal
    from harness.report.comparison import as_dict, write
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
        written = write(result, folder)
        run_index.refresh(folder.absolute().parent)
    except OSError as error:
        raise HarnessError(
            f"{str(folder)!r} cannot be written: {error.strerror or error}\n"
            f"  name another folder: --out FOLDER"
        ) from None
    for path in written:
        if path.suffix == ".md":
            github_summary.append_summary(
                path.read_text(encoding="utf-8"), partial(print, file=sys.stderr)
            )
    if form is not None:
        print(table_formats.render(tables(result), form))
    elif json:
        print(dumps(as_dict(result), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        pages = [Paragraph(str(path), "path") for path in written]
        terminal.show([*blocks(result), *pages])
    if fail_on_regression and result.worse:
        raise typer.Exit(1)
