"""The verb that shows runs over time."""

from __future__ import annotations

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
    from harness import terminal_history
    from harness.history.series import history as over_time

    found = over_time(reports, metrics or (), cells or (), every_night=every_night)
    if json:
        print(terminal_history.as_json(found))
        return
    from harness.report import trend

    print(terminal_history.shown(found, trend.write(found)))
