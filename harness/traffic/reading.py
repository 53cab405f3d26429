"""Reads a file of questions: plain text, JSON Lines or CSV."""

from __future__ import annotations

import random
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import jsonl
from harness.errors import DataError, Problem
from harness.jsonl import Row
from harness.testset import tables
from harness.traffic import Asked, Traffic

MOST = 10_000
"""So many questions are looked at: the share of any kind among them is right to a point or so."""
_KEYS = ("question", "text", "query")
_LARGEST, _LARGEST_TABLE = 1 << 27, 1 << 25
"""Bytes of a file; a table is read whole."""
_TABLES = (".csv", ".tsv")
_LONGEST = 10_000
_SHOWN = 20
_SEED = 7


def read(path: Path, most: int = MOST) -> Traffic:
    """Return the questions of a file; where it has more than `most`, that many of them by chance.

    A .jsonl file, and any whose first character is a brace, holds a JSON object a line, a .csv or
    .tsv file a header: the question is under `question`, `text` or `query`, its category, if it has
    one, under `category`. Any other file is plain text, a question a line. Empty lines and
    questions count for nothing.

    Raises:
        DataError: with all that is wrong, by line.
    """
    check(path)
    chosen: list[Asked] = []
    problems: list[Problem] = []
    wrong = of = 0
    chance = random.Random(_SEED)
    for found in _questions(path):
        if isinstance(found, Problem):
            wrong += 1
            problems += [found] if wrong <= _SHOWN else []
        else:
            of += 1
            if len(chosen) < most:
                chosen.append(found)
            elif (place := chance.randrange(of)) < most:
                chosen[place] = found
    if not of and not wrong:
        hint = "look at the path; of a table, the column is named question, text or query"
        problems.append(Problem("the file", "holds no question", hint))
    if wrong > _SHOWN:
        problems.append(Problem(f"and {wrong - _SHOWN:,} more", "lines of such kinds"))
    if problems:
        raise DataError(str(path), problems)
    return Traffic(tuple(sorted(chosen, key=lambda each: each.line)), of)


def check(path: Path) -> None:
    """Raise `DataError` for what is no file, or too large a one."""
    try:
        about = path.stat()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        problem = Problem("the file", f"cannot be read: {why}", "look at the path")
        raise DataError(str(path), [problem]) from None
    if not stat.S_ISREG(about.st_mode):
        raise DataError(str(path), [Problem("the file", "is no file", "look at the path")])
    largest = _LARGEST_TABLE if path.suffix.lower() in _TABLES else _LARGEST
    if about.st_size > largest:
        what = f"has {about.st_size:,} bytes, more than {largest:,}"
        hint = "a part of it tells as much: shuf -n 100000 FILE > PART"
        raise DataError(str(path), [Problem("the file", what, hint)])


def _questions(path: Path) -> Iterator[Asked | Problem]:
    if path.suffix.lower() in _TABLES:
        rows: Iterator[Row | Problem] = filter(_filled, tables.rows(path))
    elif path.suffix.lower() in (".jsonl", ".ndjson", ".json") or _begins_with_brace(path):
        rows = jsonl.rows(path)
    else:
        yield from _plain(path)
        return
    for row in rows:
        found = row if isinstance(row, Problem) else _asked(row)
        if found is not None:
            yield found


def _filled(row: Row | Problem) -> bool:
    """Return whether there is something to read: an empty cell of a table is not in its row."""
    return isinstance(row, Problem) or any(each in row.data for each in _KEYS)


def _begins_with_brace(path: Path) -> bool:
    with _opened(path) as file:
        return bool(file.read(1 << 10).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"))


def _plain(path: Path) -> Iterator[Asked | Problem]:
    with _opened(path) as file:
        for number, raw in enumerate(file, start=1):
            where = f"line {number}"
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError as error:
                what = f"is not UTF-8 at byte {error.start} of the line"
                yield Problem(where, what, "save the file as UTF-8")
            else:
                if text:
                    yield _checked(Asked(number, text))


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        problem = Problem("the file", f"cannot be read: {error.strerror}", "look at the path")
        raise DataError(str(path), [problem]) from None


def _asked(row: Row) -> Asked | Problem | None:
    """Return the question of a row; None where that is empty."""
    key = next((each for each in _KEYS if row.data.get(each) is not None), None)
    if key is None and any(each in row.data for each in _KEYS):
        return None
    if key is None:
        there = ", ".join(map(repr, list(row.data)[:5])) or "nothing"
        what = f"has no {', '.join(map(repr, _KEYS[:-1]))} or {_KEYS[-1]!r}, but {there[:200]}"
        return Problem(row.where, what, "name the question by one of these")
    text, category = row.data[key], row.data.get("category")
    if not isinstance(text, str):
        return Problem(row.where, f"{key}: is {type(text).__name__}, not a text", "write a text")
    if category is not None and not isinstance(category, str):
        what = f"category: is {type(category).__name__}, not a text"
        return Problem(row.where, what, "write a text, or leave it out")
    if not text.strip():
        return None
    named = (category or "").strip() or None
    return _checked(Asked(row.line, text.strip(), named))


def _checked(asked: Asked) -> Asked | Problem:
    where = f"line {asked.line}"
    if "\0" in asked.text:
        return Problem(where, "holds a NUL character: is this text?", "save it as text in UTF-8")
    if len(asked.text) > _LONGEST:
        what = f"has {len(asked.text):,} characters, which is no question"
        return Problem(where, what, f"take it out, or cut it to {_LONGEST:,}")
    return asked
