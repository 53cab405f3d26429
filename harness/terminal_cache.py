"""What the terminal shows of the cache; every line at most 100 columns wide."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from harness import numbers
from harness.housekeeping import Entry, Freed
from harness.quantities import shown_size

_WIDTH = 100
_HEAD = f"{'kind':<10}{'size':>10}  {'last used (UTC)':<16}  "


def listed(root: Path, found: Sequence[Entry]) -> str:
    """Return a table of what lies in a cache, and its totals by kind."""
    if not found:
        return f"nothing is cached in {str(root)!r}"
    lines = [f"{_HEAD}what made it", *_table(found), ""]
    for kind in dict.fromkeys(entry.kind for entry in found):
        lines.append(_total(kind, [entry for entry in found if entry.kind == kind]))
    return "\n".join([*lines, _total("all", found)])


def listed_as_json(found: Iterable[Entry]) -> str:
    """Return the same as JSON, sizes in bytes."""
    return _json([_entry(entry) for entry in found])


def freed(what: Freed, dry_run: bool) -> str:
    """Return what was deleted, or would be, and what was kept because a run is using it."""
    lines: list[str] = []
    for entries, title in (
        (what.deleted, "would be deleted:" if dry_run else "deleted:"),
        (what.in_use, "kept, because a run is using it:"),
        (what.failed, "could not be deleted (may you write there?):"),
    ):
        lines += [title, *_table(entries), ""] if entries else []
    verb = "would be freed" if dry_run else "freed"
    return "\n".join([*lines, f"{shown_size(what.size)} {verb}, {shown_size(what.remaining)} left"])


def freed_as_json(what: Freed, dry_run: bool) -> str:
    """Return the same as JSON, sizes in bytes."""
    said: dict[str, Any] = {"dry_run": dry_run, "freed": what.size, "left": what.remaining}
    for name in ("deleted", "in_use", "failed"):
        said[name] = [_entry(entry) for entry in getattr(what, name)]
    return _json(said)


def _table(entries: Iterable[Entry]) -> list[str]:
    return [
        _cut(
            f"{_cut(entry.kind, 9):<10}{shown_size(entry.size):>10}  {entry.used:%Y-%m-%d %H:%M}  "
            + ("in use: " if entry.in_use else "")
            + ("" if entry.rows is None else f"{numbers.count(entry.rows, 'row')}: ")
            + entry.what,
            _WIDTH,
        )
        for entry in entries
    ]


def _total(kind: str, entries: Sequence[Entry]) -> str:
    size = shown_size(sum(entry.size for entry in entries))
    used = sum(entry.in_use for entry in entries)
    said = f"{_cut(kind, 9):<10}{size:>10}  {numbers.count(len(entries), 'folder')}"
    return said + (f", {used:,} in use" if used else "")


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "name": entry.name,
        "what": entry.what,
        "size": entry.size,
        "used": entry.used.isoformat(timespec="seconds"),
        "in_use": entry.in_use,
        "rows": entry.rows,
    }


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)
