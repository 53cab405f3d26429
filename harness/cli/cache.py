"""Verbs about the cache."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.options import CacheFolder, Json, cache_folder
from harness.errors import HarnessError

commands = typer.Typer(
    help="See what runs have kept to save time, and make room.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@commands.command("ls")
def cache_ls(cache: CacheFolder = None, json: Json = False) -> None:
    """List what lies in the cache: what made it, its size, when it was last used."""
    from harness import housekeeping, terminal_cache

    root = cache_folder(cache)
    found = housekeeping.entries(root)
    print(terminal_cache.listed_as_json(found) if json else terminal_cache.listed(root, found))


@commands.command("gc")
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
    from harness import housekeeping, quantities, terminal_cache

    if older_than is None and max_size is None:
        raise HarnessError(
            "nothing says what to delete\n  name one or both: --older-than 30d, --max-size 5GB"
        )
    age = None if older_than is None else quantities.duration(older_than)
    room = None if max_size is None else quantities.size(max_size)
    freed = housekeeping.free(cache_folder(cache), age, room, dry_run=dry_run)
    show = terminal_cache.freed_as_json if json else terminal_cache.freed
    print(show(freed, dry_run))
