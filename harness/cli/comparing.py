"""`compare`: a run against a baseline, or cells of one run against each other."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, get_args

import typer

from harness.cli.options import Json, Metrics
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
        str, typer.Option(help="holm, or bh for the false discovery rate")
    ] = "holm",
    out: Annotated[
        Path | None, typer.Option(help="where the pages are written; else the run's folder")
    ] = None,
    fail_on_regression: Annotated[
        bool,
        typer.Option("--fail-on-regression", help="exit 1 if a metric is shown to be worse"),
    ] = False,
    json: Json = False,
) -> None:
    """Compare a run with a baseline, question by question: what is shown, and how sure it is.

    Writes compare-<baseline>.html and .md. With RUN left out, cells of one run are compared.
    """
    from harness.baselines.named_sides import both
    from harness.comparing import as_json as comparison_json
    from harness.comparing import text as comparison_text
    from harness.comparing.comparison import Options
    from harness.comparing.refusals import Allowed
    from harness.comparing.runs import comparison
    from harness.gate import steps
    from harness.report.comparison import write
    from harness.statistics.families import Correction
    from harness.statistics.paired_tests import Chosen

    options = Options(
        metrics=metrics or (),
        pairs=pairs or (),
        allow=[one_of(each, "--allow", get_args(Allowed)) for each in allow or ()],
        test=one_of(test, "--test", get_args(Chosen)),
        correction=one_of(correction, "--correction", get_args(Correction)),
    )
    found = comparison(*both(baseline, run), options)
    folder = out or run or Path(baseline)
    try:
        written = write(found, folder)
    except OSError as error:
        raise HarnessError(
            f"{str(folder)!r} cannot be written: {error.strerror or error}\n"
            f"  name another folder: --out FOLDER"
        ) from None
    for path in written:
        if path.suffix == ".md":
            steps.summarise(path.read_text(encoding="utf-8"), partial(print, file=sys.stderr))
    if json:
        print(comparison_json.as_json(found))
    else:
        print("\n".join([comparison_text.text(found), "", *map(str, written)]))
    if fail_on_regression and found.worse:
        raise typer.Exit(1)
