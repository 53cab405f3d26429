"""Reads a file of questions: plain text, JSON Lines or CSV."""

from __future__ import annotations

import random
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import limits
from harness.errors import DataError, Problem
from harness.files import json_lines
from harness.files.json_lines import JsonLine
from harness.preflight.traffic import TrafficFile, TrafficQuestion
from harness.testset import csv_questions

MAX_QUESTIONS = 10_000
"""So many questions are looked at: the share of any kind among them is right to a point or so."""
_KEYS = ("question", "text", "query")
_TABLE_SUFFIXES = (".csv", ".tsv")
_MAX_PROBLEMS = 20
_SEED = 7


def read(path: Path, most: int = MAX_QUESTIONS) -> TrafficFile:
    """Return the questions of a file; where it has more than `most`, that many of them by chance.

    A .jsonl file, and any whose first character is a brace, holds a JSON object a line, a .csv or
    .tsv file a header: the question is under `question`, `text` or `query`, its category, if it has
    one, under `category`. Any other file is plain text, a question a line. Empty lines and
    questions count for nothing.

    Raises:
        DataError: with all that is wrong, by line.
    """
    check(path)
    chosen: list[TrafficQuestion] = []
    problems: list[Problem] = []
    n_wrong = total = 0
    chance = random.Random(_SEED)
    for item in _read_questions(path):
        if isinstance(item, Problem):
            n_wrong += 1
            problems += [item] if n_wrong <= _MAX_PROBLEMS else []
        else:
            total += 1
            if len(chosen) < most:
                chosen.append(item)
            elif (index := chance.randrange(total)) < most:
                chosen[index] = item
    if not total and not n_wrong:
        hint = "look at the path; of a table, the column is named question, text or query"
        problems.append(Problem("the file", "holds no question", hint))
    if n_wrong > _MAX_PROBLEMS:
        problems.append(Problem(f"and {n_wrong - _MAX_PROBLEMS:,} more", "lines of such kinds"))
    if problems:
        raise DataError(str(path), problems)
    return TrafficFile(tuple(sorted(chosen, key=lambda question: question.line)), total)


def check(path: Path) -> None:
    """Raise `DataError` for what is no file, or too large a one."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        problem = Problem("the file", f"cannot be read: {why}", "look at the path")
        raise DataError(str(path), [problem]) from None
    if not stat.S_ISREG(status.st_mode):
        raise DataError(str(path), [Problem("the file", "is no file", "look at the path")])
    largest = (
        limits.MAX_TRAFFIC_TABLE_BYTES
        if path.suffix.lower() in _TABLE_SUFFIXES
        else limits.MAX_TRAFFIC_FILE_BYTES
    )
    if status.st_size > largest:
        message = f"has {status.st_size:,} bytes, more than {largest:,}"
        hint = "a part of it tells as much: shuf -n 100000 FILE > PART"
        raise DataError(str(path), [Problem("the file", message, hint)])


def _read_questions(path: Path) -> Iterator[TrafficQuestion | Problem]:
    if path.suffix.lower() in _TABLE_SUFFIXES:
        rows: Iterator[JsonLine | Problem] = filter(_has_question, csv_questions.read_rows(path))
    elif path.suffix.lower() in (".jsonl", ".ndjson", ".json") or _begins_with_brace(path):
        rows = json_lines.rows(path)
    else:
        yield from _read_plain(path)
        return
    for row in rows:
        item = row if isinstance(row, Problem) else _parse_row(row)
        if item is not None:
            yield item


def _has_question(row: JsonLine | Problem) -> bool:
    """Return whether there is something to read: an empty cell of a table is not in its row."""
    return isinstance(row, Problem) or any(key in row.data for key in _KEYS)


def _begins_with_brace(path: Path) -> bool:
    with _open(path) as file:
        return bool(file.read(1 << 10).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"))


def _read_plain(path: Path) -> Iterator[TrafficQuestion | Problem]:
    with _open(path) as file:
        for number, raw in enumerate(file, start=1):
            where = f"line {number}"
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError as error:
                message = f"is not UTF-8 at byte {error.start} of the line"
                yield Problem(where, message, "save the file as UTF-8")
            else:
                if text:
                    yield _check_question(TrafficQuestion(number, text))


def _open(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        problem = Problem("the file", f"cannot be read: {error.strerror}", "look at the path")
        raise DataError(str(path), [problem]) from None


def _parse_row(row: JsonLine) -> TrafficQuestion | Problem | None:
    """Return the question of a row; None where that is empty."""
    key = next((name for name in _KEYS if row.data.get(name) is not None), None)
    if key is None and any(name in row.data for name in _KEYS):
        return None
    if key is None:
        columns = ", ".join(map(repr, list(row.data)[:5])) or "nothing"
        message = f"has no {', '.join(map(repr, _KEYS[:-1]))} or {_KEYS[-1]!r}, but {columns[:200]}"
        return Problem(row.where, message, "name the question by one of these")
    text, category = row.data[key], row.data.get("category")
    if not isinstance(text, str):
        return Problem(row.where, f"{key}: is {type(text).__name__}, not a text", "write a text")
    if category is not None and not isinstance(category, str):
        message = f"category: is {type(category).__name__}, not a text"
        return Problem(row.where, message, "write a text, or leave it out")
    if not text.strip():
        return None
    label = (category or "").strip() or None
    return _check_question(TrafficQuestion(row.line, text.strip(), label))


def _check_question(question: TrafficQuestion) -> TrafficQuestion | Problem:
    where = f"line {question.line}"
    if "\0" in question.text:
        return Problem(where, "holds a NUL character: is this text?", "save it as text in UTF-8")
    if len(question.text) > limits.MAX_TRAFFIC_QUESTION_CHARS:
        message = f"has {len(question.text):,} characters, which is no question"
        return Problem(
            where, message, f"take it out, or cut it to {limits.MAX_TRAFFIC_QUESTION_CHARS:,}"
        )
    return question
