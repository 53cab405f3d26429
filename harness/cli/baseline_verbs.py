"""Commands `baseline ...`: runs that later ones are compared with."""

from __future__ import annotations

from json import dumps
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


@commands.command("show")
def baseline_show(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="a name, or a file")] = "main",
    json: Json = False,
) -> None:
    """Show a baseline: who promoted which run, when and why, and what it scored."""
    from harness.comparison.baselines import baseline_reader
    from harness.report import baselines, terminal

    baseline = baseline_reader.read(name)
    if json:
        print(dumps(baselines.as_dict(baseline), indent=1, ensure_ascii=False))
    else:
        terminal.show(baselines.blocks(baseline))


@commands.command("ls")
def baseline_ls(json: Json = False) -> None:
    """List the baselines there are."""
    from harness.comparison.baselines import baseline_reader
    from harness.report import baselines, terminal

    there = baseline_reader.read_all()
    if json:
        print(dumps(baselines.list_as_data(there), indent=1, ensure_ascii=False))
    else:
        terminal.show(baselines.list_blocks(there))
