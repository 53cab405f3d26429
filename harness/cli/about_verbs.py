"""Commands `list`, `schema`, `init`, `doctor` and `cache`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import (
    MACHINE,
    RUN,
    CacheFolder,
    CommandGroup,
    Json,
    Override,
    cache_folder,
    config_file,
    print_json,
)
from harness.errors import HarnessError

commands = typer.Typer()
cache_commands = typer.Typer(
    cls=CommandGroup,
    help="See what runs have kept to save time, and make room.",
    no_args_is_help=True,
)


@commands.command("list", rich_help_panel=MACHINE)
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


@commands.command(rich_help_panel=MACHINE)
def schema(
    form: Annotated[
        str, typer.Argument(metavar="what", help="config, testset, run or records")
    ] = "config",
) -> None:
    """Print the JSON schema of a file format."""
    from harness.cli import catalogue

    print(catalogue.schema(form))


@commands.command(rich_help_panel=RUN)
def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder")]) -> None:
    """Write a small project that `run` accepts as it is."""
    from harness.cli import project
    from harness.report import terminal

    terminal.show_paths(project.create(folder))
    print(f"\nNow run: python -m harness run {folder / 'config.yaml'}")


@commands.command(rich_help_panel=MACHINE)
def doctor(
    config: Annotated[
        Path | None,
        typer.Argument(
            help="the configuration of a planned run, if there is one", callback=config_file
        ),
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


@cache_commands.command("ls")
def cache_ls(cache: CacheFolder = None, json: Json = False) -> None:
    """List what lies in the cache: what made it, its size, when it was last used."""
    from harness.cache import housekeeping
    from harness.report import cache_blocks, terminal

    root = cache_folder(cache)
    entries = housekeeping.entries(root)
    if json:
        print_json([entry.as_dict() for entry in entries])
    else:
        terminal.show(cache_blocks.contents(root, entries))


@cache_commands.command("gc")
def cache_gc(
    older_than: Annotated[
        str | None, typer.Option(metavar="TIME", help="delete what was not used for: 12h, 30d, 4w")
    ] = None,
    max_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="then the least used, down to: 500MB, 5GB")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="only say what would be deleted")
    ] = False,
    cache: CacheFolder = None,
    json: Json = False,
) -> None:
    """Make room in the cache; what a run is using stays."""
    from harness.cache import housekeeping
    from harness.report import cache_blocks, terminal
    from harness.text import quantities

    if older_than is None and max_size is None:
        raise HarnessError(
            "nothing says what to delete\n  name one or both: --older-than 30d, --max-size 5GB"
        )
    age = None if older_than is None else quantities.parse_duration(older_than)
    max_bytes = None if max_size is None else quantities.parse_size(max_size)
    freed = housekeeping.free(cache_folder(cache), age, max_bytes, dry_run=dry_run)
    if json:
        sizes = {"dry_run": dry_run, "freed": freed.size, "left": freed.remaining}
        parts = {"deleted": freed.deleted, "in_use": freed.in_use, "failed": freed.failed}
        rows = {name: [entry.as_dict() for entry in part] for name, part in parts.items()}
        print_json({**sizes, **rows})
    else:
        terminal.show(cache_blocks.freed(freed, dry_run))
