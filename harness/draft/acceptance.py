"""Accepts drafts: takes the draft mark off questions that a person has read."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from harness.errors import DataError, HarnessError, Problem
from harness.files import reading
from harness.files.json_lines import JsonLine, rows
from harness.files.new_files import write_file


def accept(path: Path, ids: Collection[str] | None) -> tuple[int, int]:
    """Take the mark off the drafts of these ids, off all where `ids` is None.

    Every other line stays as it is. Returns how many drafts were accepted, and how many are left.

    Raises:
        DataError: the file cannot be read; nothing is changed.
        HarnessError: an id is none of a draft, or the file cannot be written.
    """
    drafts: dict[str, JsonLine] = {}
    problems: list[Problem] = []
    for row in rows(path):
        if isinstance(row, Problem):
            problems.append(row)
        elif row.data.get("draft") is True:
            drafts[str(row.data.get("id", f"line-{row.line}"))] = row
    if problems:
        raise DataError(str(path), problems)
    chosen = drafts if ids is None else {id_: drafts[id_] for id_ in ids if id_ in drafts}
    unknown = [id_ for id_ in ids or () if id_ not in drafts]
    if unknown:
        example = f", {next(iter(drafts))!r} for one" if drafts else ""
        raise HarnessError(
            f"{str(path)!r} has no draft with the id {unknown[0]!r}\n"
            f"  it has {len(drafts)}{example}"
        )
    if chosen:
        lines = reading.read_text(path).split("\n")
        for row in chosen.values():
            data = {key: value for key, value in row.data.items() if key != "draft"}
            lines[row.line - 1] = json.dumps(data, ensure_ascii=False)
        write_file(path, "\n".join(lines))
    return len(chosen), len(drafts) - len(chosen)
