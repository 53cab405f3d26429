"""Judgements and rankings in TREC's and BEIR's files."""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from harness import openfile
from harness.errors import ENOUGH, DataError, Problem, shortened

T = TypeVar("T")

Qrels = dict[str, dict[str, int]]
"""Question to document to grade; 0 is judged irrelevant, below 0 outside the pool."""

Ranking = dict[str, dict[str, float]]
"""Question to document to score; a higher score is a better rank."""

_GZIP = b"\x1f\x8b"
_SHOWN = 20
_LONGEST = 1 << 20
"""Bytes of a line, which holds a few ids and numbers."""
_DIGITS = 400
"""Characters of a score; the time to read one grows with their square."""
_WHOLE = re.compile(r"[-+]?[0-9]{1,9}")

HIGHEST = 1000
"""The highest grade, and below 0 the lowest: an exponential gain, 2^grade, is still a number."""


@dataclass(frozen=True)
class _Line:
    number: int
    fields: tuple[str, ...]

    @property
    def where(self) -> str:
        return f"line {self.number}"


def read_qrels(path: Path) -> Qrels:
    """Read judgements: `question iteration document grade`, or BEIR's three columns.

    Any white space separates; under a BEIR header with tabs, a tab does, so that ids may hold
    spaces. Lines that start with # and empty ones are left out; the file may be gzipped.

    Raises:
        DataError: a line is malformed or judges a document twice; with the line's number.
    """
    qrels: Qrels = {}
    problems: list[Problem] = []
    for line in _lines(path, problems):
        if len(line.fields) not in (3, 4):
            what = f"has {len(line.fields)} fields"
            problems.append(Problem(line.where, what, "4: question iteration document grade"))
            continue
        question, document, grade = line.fields[0], *line.fields[-2:]
        grades = qrels.setdefault(question, {})
        value = read_grade(grade, line.where)
        if isinstance(value, Problem):
            problems.append(value)
        elif document in grades:
            problems.append(_twice(line, "judges", document, question))
        else:
            grades[document] = value
    return _sound(path, qrels, problems)


def read_grade(text: str, where: str) -> int | Problem:
    """Return the grade that `text` is, or why it is none."""
    if not _WHOLE.fullmatch(text):
        return Problem(
            where, f"the grade {_short(text)!r} is no whole number", "write it like 2, 0 or -1"
        )
    if abs(int(text)) > HIGHEST:
        hint = f"grades are at most {HIGHEST}, and at least -{HIGHEST}"
        return Problem(where, f"the grade {text!r} is too large", hint)
    return int(text)


def read_run(path: Path) -> Ranking:
    """Read a ranking: `question Q0 document rank score name`, or `question document score`.

    The rank is ignored, as trec_eval does: the score decides, then the document's id, descending.

    Raises:
        DataError: a line is malformed, a document stands there twice, or a score is not a finite
            number; with the line's number.
    """
    run: Ranking = {}
    problems: list[Problem] = []
    for line in _lines(path, problems):
        if len(line.fields) not in (3, 6):
            what = f"has {len(line.fields)} fields"
            problems.append(Problem(line.where, what, "6: question Q0 document rank score name"))
            continue
        full = len(line.fields) == 6
        question, document = line.fields[0], line.fields[2 if full else 1]
        scores = run.setdefault(question, {})
        given = line.fields[4 if full else 2]
        score = _number(given)
        if score is None:
            what = f"the score {_short(given)!r} is not a finite number"
            problems.append(Problem(line.where, what, "nothing can be ranked by it"))
        elif document in scores:
            problems.append(_twice(line, "ranks", document, question))
        else:
            scores[document] = score
    return _sound(path, run, problems)


def _lines(path: Path, problems: list[Problem]) -> Iterator[_Line]:
    try:
        with openfile.opened(path) as raw:
            zipped = raw.peek(2)[:2] == _GZIP
            with cast(BinaryIO, gzip.open(raw)) if zipped else raw as file:
                yield from _split(openfile.lines(file, _LONGEST), problems)
    except FileNotFoundError:
        raise DataError(str(path), [Problem("the file", "does not exist")]) from None
    except (OSError, EOFError, zlib.error) as error:
        said = getattr(error, "strerror", None) or error
        problem = Problem("the file", f"cannot be read: {said}", "look at the path")
        raise DataError(str(path), [problem]) from None


def _split(file: Iterable[bytes], problems: list[Problem]) -> Iterator[_Line]:
    """Yield the lines that hold something, without BEIR's header."""
    started = tabs = False
    for number, line in enumerate(file, start=1):
        if len(problems) >= ENOUGH:
            return  # it is none of these files, and may be of any length
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problems.append(Problem(f"line {number}", f"is not UTF-8 at byte {error.start}"))
            continue
        if text.startswith("#") or not text.strip():
            continue
        if not started and text.split()[0] == "query-id":
            tabs = "\t" in text
        else:
            by = "\t" if tabs and "\t" in text else None
            yield _Line(number, tuple(map(str.strip, text.split(by))))
        started = True


def _sound(path: Path, found: dict[str, T], problems: list[Problem]) -> dict[str, T]:
    """Return what was found, or raise what is wrong with it."""
    if not found and not problems:
        problems.append(Problem("the file", "is empty"))
    if problems:
        raise DataError(str(path), shortened(problems, _SHOWN))
    return found


def _twice(line: _Line, verb: str, document: str, question: str) -> Problem:
    what = f"{verb} document {document!r} for question {question!r} a second time"
    return Problem(line.where, what, "keep one of the two lines")


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _number(text: str) -> float | None:
    if len(text) > _DIGITS:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    # Python alone reads 1_000 as a number.
    return value if math.isfinite(value) and "_" not in text else None
