"""Reads a file of real user questions (traffic): plain text, JSON Lines or CSV."""

from __future__ import annotations

import random
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import limits
from harness.errors import DataError, Problem
from harness.files import data_rows, json_lines
from harness.files.json_lines import JsonLine

MAX_QUESTIONS = 10_000
"""So many questions are looked at: the share of any kind among them is right to a point or so."""
_KEYS = ("question", "text", "query")
_TABLE_SUFFIXES, _JSON_SUFFIXES = (".csv", ".tsv"), (".jsonl", ".ndjson", ".json")
_MAX_PROBLEMS = 20
_SEED = 7


@dataclass(frozen=True, slots=True)
class TrafficQuestion:
    """One question somebody asked, and the line of the file it is on."""

    line: int
    text: str


@dataclass(frozen=True)
class TrafficFile:
    """The questions of one file, in its order; of a large one, some chosen by chance.

    `of` is how many the file has, each time counted that one was asked.
    """

    questions: tuple[TrafficQuestion, ...]
    of: int


def read(path: Path, most: int = MAX_QUESTIONS) -> TrafficFile:
    """Return the questions of a file; where it has more than `most`, that many of them by chance.

    A .jsonl file, and any whose first character is a brace, holds a JSON object a line, a .csv or
    .tsv file a header: the question is under `question`, `text` or `query`. Any other file is plain
    text, a question a line. Empty lines and questions count for nothing.

    Raises:
        DataError: with all that is wrong, by line.
    """
    check(path)
    chosen: list[TrafficQuestion] = []
    problems: list[Problem] = []
    n_wrong = total = 0
    chance = random.Random(_SEED)
    for item in _read_questions(path):
        fault = item if isinstance(item, Problem) else _find_fault(item)
        if fault is not None:
            n_wrong += 1
            problems += [fault] if n_wrong <= _MAX_PROBLEMS else []
            continue
        assert isinstance(item, TrafficQuestion)
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
    """Raise `DataError` for what is no file, cannot be read, or is too large."""
    is_table = path.suffix.lower() in _TABLE_SUFFIXES
    largest = limits.MAX_TRAFFIC_TABLE_BYTES if is_table else limits.MAX_TRAFFIC_FILE_BYTES
    fault, hint = "", "look at the path"
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            fault = "is no file"
        elif status.st_size > largest:
            fault = f"has {status.st_size:,} bytes, more than {largest:,}"
            hint = "a part of it tells as much: shuf -n 100000 FILE > PART"
        else:
            path.open("rb").close()
    except (OSError, ValueError) as error:
        fault = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if fault:
        raise DataError(str(path), [Problem("the file", fault, hint)])


def _read_questions(path: Path) -> Iterator[TrafficQuestion | Problem]:
    is_table = path.suffix.lower() in _TABLE_SUFFIXES
    with path.open("rb") as file:
        has_brace = file.read(1 << 10).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
        if is_table or has_brace or path.suffix.lower() in _JSON_SUFFIXES:
            for row in data_rows.read_table(path) if is_table else json_lines.rows(path):
                item = row if isinstance(row, Problem) else _parse_row(row, is_table)
                if item is not None:
                    yield item
            return
        file.seek(0)
        for number, raw in enumerate(file, start=1):
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError as error:
                message = f"is not UTF-8 at byte {error.start} of the line"
                yield Problem(f"line {number}", message, "save the file as UTF-8")
                continue
            if text:
                yield TrafficQuestion(number, text)


def _parse_row(row: JsonLine, is_table: bool) -> TrafficQuestion | Problem | None:
    """Return the question of a row; None where that is empty: a table's row lacks empty cells."""
    key = next((name for name in _KEYS if row.data.get(name) is not None), None)
    if key is None:
        if is_table or any(name in row.data for name in _KEYS):
            return None
        columns = ", ".join(map(repr, list(row.data)[:5])) or "nothing"
        message = f"has no {', '.join(map(repr, _KEYS[:-1]))} or {_KEYS[-1]!r}, but {columns[:200]}"
        return Problem(row.where, message, "name the question by one of these")
    text = row.data[key]
    if not isinstance(text, str):
        message = f"{key}: is {type(text).__name__}, not a text"
        return Problem(row.where, message, "write a text")
    return TrafficQuestion(row.line, text.strip()) if text.strip() else None


def _find_fault(question: TrafficQuestion) -> Problem | None:
    """Return what is wrong with a question, if anything is."""
    where, size = f"line {question.line}", len(question.text)
    if "\0" in question.text:
        return Problem(where, "holds a NUL character: is this text?", "save it as text in UTF-8")
    if size > limits.MAX_TRAFFIC_QUESTION_CHARS:
        hint = f"take it out, or cut it to {limits.MAX_TRAFFIC_QUESTION_CHARS:,}"
        return Problem(where, f"has {size:,} characters, which is no question", hint)
    return None
