"""Verbs that say what there is, and begin a project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import Json, Outside, Override

commands = typer.Typer()


@commands.command("list")
def list_(
    family: Annotated[str | None, typer.Argument(help="one family, in full")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="as the README's table")] = False,
) -> None:
    """List the components: names, parameters, and what they do."""
    from harness import catalogue

    if markdown:
        print(catalogue.table())
    else:
        print(catalogue.overview() if family is None else catalogue.details(family))


@commands.command()
def schema(
    what: Annotated[str, typer.Argument(help="config, testset, run or records")] = "config",
) -> None:
    """Print the JSON schema of a file format."""
    from harness import catalogue

    print(catalogue.schema(what))


@commands.command()
def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder")]) -> None:
    """Write a small project that `run` accepts as it is."""
    from harness import project

    for path in project.create(folder):
        print(path)
    print(f"\nNow run: python -m harness run {folder / 'config.yaml'}")


@commands.command()
def doctor(
    config: Annotated[
        Path | None, typer.Argument(help="the configuration of a planned run, if there is one")
    ] = None,
    overrides: Override = None,
    outside: Outside = False,
    json: Json = False,
) -> None:
    """Look at this machine: versions, models, servers, memory, disk, network. Nothing is spent.

    Exits 3 where a problem is found.
    """
    from harness.config import load
    from harness.doctor import examined, written

    planned = None if config is None else load(config, overrides or (), allow_outside=outside)
    found = list(examined(planned))
    print(written.as_json(found) if json else written.as_text(found))
    if any(fact.status == "problem" for _, fact in found):
        raise typer.Exit(3)
