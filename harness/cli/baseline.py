"""Verbs about baselines: runs that later ones are held against."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import Json

commands = typer.Typer(
    help="Promote a run to what later ones are held against.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@commands.command("set")
def baseline_set(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")],
    name: Annotated[str, typer.Option(help="what it is called")] = "main",
    cell: Annotated[str | None, typer.Option(help="the one cell to keep; else all")] = None,
    why: Annotated[str, typer.Option(help="why, for whoever reads it later")] = "",
    force: Annotated[
        bool, typer.Option("--force", help="though the run has failures, or did not finish")
    ] = False,
) -> None:
    """Make a finished run the baseline of a name: writes baselines/NAME.json, for git."""
    from harness.baselines import listed as baseline_report
    from harness.baselines import promotion

    found = promotion.promote(folder, name, cell, why, force)
    print(baseline_report.promoted(found))


@commands.command("show")
def baseline_show(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="a name, or a file")] = "main",
    json: Json = False,
) -> None:
    """Show a baseline: who promoted which run, when and why, and what it scored."""
    from harness.baselines import listed as baseline_report
    from harness.baselines import reading

    found = reading.read(name)
    print(baseline_report.as_json(found) if json else baseline_report.shown(found))


@commands.command("ls")
def baseline_ls(json: Json = False) -> None:
    """List the baselines there are."""
    from harness.baselines import listed as baseline_report

    print(baseline_report.listed_as_json() if json else baseline_report.listed())
