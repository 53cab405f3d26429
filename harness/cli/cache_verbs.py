"""Commands `cache ...`."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.notes import print_json
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
    from harness.cache import housekeeping
    from harness.report import cache_blocks, terminal

    root = cache_folder(cache)
    entries = housekeeping.entries(root)
    if json:
        print_json([entry.as_dict() for entry in entries])
    else:
        terminal.show(cache_blocks.contents(root, entries))


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
