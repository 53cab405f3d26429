"""Commands `list`, `schema`, `init` and `doctor`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.notes import print_json
from harness.cli.options import Json, Override

commands = typer.Typer()


@commands.command("list")
def list_(
    family: Annotated[str | None, typer.Argument(help="one family, in full")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="as the README's table")] = False,
) -> None:
    """List the components: names, parameters, and what they do."""
    from harness.cli import catalogue
    from harness.report import terminal

    if markdown:
        print(catalogue.table(family))
    else:
        terminal.show(catalogue.overview() if family is None else catalogue.details(family))


@commands.command()
def schema(
    form: Annotated[
        str, typer.Argument(metavar="what", help="config, testset, run or records")
    ] = "config",
) -> None:
    """Print the JSON schema of a file format."""
    from harness.cli import catalogue

    print(catalogue.schema(form))


@commands.command()
def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder")]) -> None:
    """Write a small project that `run` accepts as it is."""
    from harness.cli import project

    for path in project.create(folder):
        print(path)
    print(f"\nNow run: python -m harness run {folder / 'config.yaml'}")


@commands.command()
def doctor(
    config: Annotated[
        Path | None, typer.Argument(help="the configuration of a planned run, if there is one")
    ] = None,
    overrides: Override = None,
    json: Json = False,
) -> None:
    """Look at this machine: versions, models, servers, memory, disk, network. Nothing is spent.

    Exits 3 where a problem is found.
    """
    from harness.config.run_config import load
    from harness.preflight.machine import run_checks
    from harness.report import preflight_blocks, terminal

    planned = None if config is None else load(config, overrides or ())
    facts = list(run_checks(planned))
    problems = sum(fact.status == "problem" for _, fact in facts)
    if json:
        rows = [{"check": check, **asdict(fact)} for check, fact in facts]
        print_json({"problems": problems, "facts": rows})
    else:
        terminal.show(preflight_blocks.machine(facts))
    if problems:
        raise typer.Exit(3)
