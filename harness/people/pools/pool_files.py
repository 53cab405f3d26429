"""Writes a pool as JSON Lines or CSV, with empty grades for people to fill in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.errors import HarnessError
from harness.files import csv_rows
from harness.files.new_files import check_new, write_file
from harness.people.pools.pool_collection import JudgementPool, PoolItem

FIELDS = ("item", "id", "question", "doc", "title", "text", "grade", "grades")
"""`id` and `question` are a question's; `grades` says what the numbers mean."""
_SUFFIXES = (".jsonl", ".csv")


def write(pool: JudgementPool, path: Path, force: bool = False) -> None:
    """Write a pool as JSON Lines or as CSV, by the name of the file.

    In CSV a text that a spreadsheet would run as a formula has an apostrophe before it, and so has
    one that begins with an apostrophe: reading takes it off again.

    Raises:
        HarnessError: the file is neither, is there already, or cannot be written.
    """
    check_path(path)
    check_new([path], force)
    write_file(path, _render_csv(pool) if path.suffix.lower() == ".csv" else _render_jsonl(pool))


def check_path(path: Path) -> None:
    """Raise `HarnessError` unless a pool can be a file of that name."""
    if path.suffix.lower() not in _SUFFIXES:
        raise HarnessError(f"{str(path)!r} is no .jsonl or .csv file\n  name one: -o pool.csv")


def _row(item: PoolItem, highest: int) -> dict[str, Any]:
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


def _render_jsonl(pool: JudgementPool) -> str:
    rows = (_row(item, pool.highest) for item in pool.items)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _render_csv(pool: JudgementPool) -> str:
    lines = [csv_rows.row(FIELDS)]
    for item in pool.items:
        row = _row(item, pool.highest)
        lines.append(csv_rows.row(csv_rows.guard(row[field] or "") for field in FIELDS))
    return "\ufeff" + "".join(lines)  # without the mark, Excel takes UTF-8 for another encoding
