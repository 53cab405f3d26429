"""Accepts drafts: takes the draft mark off questions that a person has read."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError, HarnessError, Problem
from harness.files import reading
from harness.files.json_lines import JsonLine, rows
from harness.files.new_files import write_file


@dataclass(frozen=True)
class Accepted:
    """How many drafts were accepted, and how many are left."""

    accepted: int
    left: int


def accept(path: Path, ids: Collection[str] | None) -> Accepted:
    """Take the mark off the drafts of these ids, off all where `ids` is None.

    Every other line stays as it is.

    Raises:
        DataError: the file cannot be read; nothing is changed.
        HarnessError: an id is none of a draft, or the file cannot be written.
    """
    lines_or_problems = list(rows(path))
    problems = [item for item in lines_or_problems if isinstance(item, Problem)]
    if problems:
        raise DataError(str(path), problems)
    marked = [
        item
        for item in lines_or_problems
        if isinstance(item, JsonLine) and item.data.get("draft") is True
    ]
    drafts = [(_id(item), item) for item in marked]
    names = [name for name, _ in drafts]
    chosen = [row for name, row in drafts if ids is None or name in ids]
    unknown = [name for name in ids or () if name not in names]
    if unknown:
        raise HarnessError(
            f"{str(path)!r} has no draft with the id {unknown[0]!r}\n"
            f"  it has {len(drafts)}{f', {names[0]!r} for one' if names else ''}"
        )
    if chosen:
        lines = reading.read_text(path).split("\n")
        for row in chosen:
            data = {key: value for key, value in row.data.items() if key != "draft"}
            lines[row.line - 1] = json.dumps(data, ensure_ascii=False)
        write_file(path, "\n".join(lines))
    return Accepted(len(chosen), len(drafts) - len(chosen))


def _id(row: JsonLine) -> str:
    return str(row.data.get("id", f"line-{row.line}"))
