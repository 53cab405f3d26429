"""Blocks on what lies in the cache, and on what was deleted there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.cache.housekeeping import Artefact, Freed
from harness.report.document import Block, Paragraph, TableBlock
from harness.text import numbers
from harness.text.quantities import format_size


def contents(root: Path, artefacts: Sequence[Artefact]) -> list[Block]:
    """Return a table of what lies in a cache, and its totals by kind."""
    if not artefacts:
        return [Paragraph(f"nothing is cached in {str(root)!r}")]
    kinds = dict.fromkeys(entry.kind for entry in artefacts)
    rows = [_total(kind, [e for e in artefacts if e.kind == kind]) for kind in kinds]
    head = ["kind", "size", "folders", "in use"]
    return [_table(artefacts), TableBlock(head, [*rows, _total("all", artefacts)])]


def freed(result: Freed, dry_run: bool) -> list[Block]:
    """Return what was deleted, or would be, and what was kept because a run is using it."""
    verb = "would be freed" if dry_run else "freed"
    parts = (
        (result.deleted, "would be deleted:" if dry_run else "deleted:"),
        (result.in_use, "kept, because a run is using it:"),
        (result.failed, "could not be deleted (may you write there?):"),
    )
    left = f"{format_size(result.size)} {verb}, {format_size(result.remaining)} left"
    return [*(_table(part, title) for part, title in parts if part), Paragraph(left)]


def _table(entries: Sequence[Artefact], caption: str = "") -> TableBlock:
    rows = [
        [
            entry.kind,
            format_size(entry.size),
            f"{entry.used:%Y-%m-%d %H:%M}",
            ("in use: " if entry.in_use else "")
            + ("" if entry.rows is None else f"{numbers.count(entry.rows, 'row')}: ")
            + entry.what,
        ]
        for entry in entries
    ]
    head = ["kind", "size", "last used (UTC)", "what made it"]
    return TableBlock(head, rows, caption, numeric=False)


def _total(kind: str, entries: Sequence[Artefact]) -> list[str]:
    size, used = sum(entry.size for entry in entries), sum(entry.in_use for entry in entries)
    return [kind, format_size(size), numbers.whole(len(entries)), numbers.whole(used)]
