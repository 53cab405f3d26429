"""Command `history`: runs over time."""

from __future__ import annotations

from contextlib import suppress
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import Json, Metrics

commands = typer.Typer()


@commands.command()
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
        print(dumps(document.as_dict(series), indent=1, ensure_ascii=False))
        return
    pages = document.write(series)
    with suppress(OSError):  # the list of runs is another's matter
        run_index.refresh(reports)
    terminal.show(document.blocks(series, pages))
