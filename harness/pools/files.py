"""Pools as files: JSON Lines, or CSV for a spreadsheet; the grades are for people to fill in."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from harness import formulas
from harness.errors import HarnessError
from harness.newfiles import check_new, put
from harness.pools.collecting import Item, Pool

FIELDS = ("item", "id", "question", "doc", "title", "text", "grade", "grades")
"""`id` and `question` are a question's; `grades` says what the numbers mean."""
_SUFFIXES = (".jsonl", ".csv")


def write(pool: Pool, path: Path, force: bool = False) -> None:
    """Write a pool as JSON Lines or as CSV, by the name of the file.

    In CSV a text that a spreadsheet would run as a formula has an apostrophe before it, and so has
    one that begins with an apostrophe: reading takes it off again.

    Raises:
        HarnessError: the file is neither, is there already, or cannot be written.
    """
    check_path(path)
    check_new([path], force)
    put(path, _csv(pool) if path.suffix.lower() == ".csv" else _jsonl(pool))


def check_path(path: Path) -> None:
    """Raise `HarnessError` unless a pool can be a file of that name."""
    if path.suffix.lower() not in _SUFFIXES:
        raise HarnessError(f"{str(path)!r} is no .jsonl or .csv file\n  name one: -o pool.csv")


def _row(item: Item, highest: int) -> dict[str, Any]:
    more = "1 relevant" if highest == 1 else f"1 to {highest} relevant, {highest} the most"
    return {
        "item": item.mark,
        "id": item.question,
        "question": item.asked,
        "doc": item.doc,
        "title": item.title,
        "text": item.text,
        "grade": None,
        "grades": f"0 not relevant, {more}; -1 cannot be told; empty: not judged",
    }


def _jsonl(pool: Pool) -> str:
    rows = (_row(item, pool.highest) for item in pool.items)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _csv(pool: Pool) -> str:
    out = io.StringIO()
    out.write("\ufeff")  # without it, Excel takes UTF-8 for another encoding
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    for item in pool.items:
        row = _row(item, pool.highest)
        writer.writerow({key: formulas.guarded(each or "") for key, each in row.items()})
    return out.getvalue()
