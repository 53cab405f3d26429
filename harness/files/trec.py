"""Read judgements (qrels) and rankings (runs) in TREC and BEIR format."""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from harness import limits
from harness.errors import DataError, Problem, first_problems
from harness.files import reading

T = TypeVar("T")

Qrels = dict[str, dict[str, int]]
"""Question to document to grade; 0 is judged irrelevant, below 0 outside the pool."""

Ranking = dict[str, dict[str, float]]
"""Question to document to score; a higher score is a better rank."""

_GZIP = b"\x1f\x8b"
_MAX_PROBLEMS_SHOWN = 20
_GRADE = re.compile(r"[-+]?[0-9]{1,9}")


@dataclass(frozen=True)
class _Line:
    number: int
    fields: tuple[str, ...]

    @property
    def where(self) -> str:
        return f"line {self.number}"


def read_qrels(path: str | Path) -> Qrels:
    """Read judgements: `question iteration document grade`, or BEIR's three columns.

    Any white space separates; under a BEIR header with tabs, a tab does, so that ids may hold
    spaces. Lines that start with # and empty ones are left out; the file may be gzipped.

    Raises:
        DataError: a line is malformed or judges a document twice; with the line's number.
    """
    qrels: Qrels = {}
    problems: list[Problem] = []
    for line in _read_lines(Path(path), problems):
        if len(line.fields) not in (3, 4):
            message = f"has {len(line.fields)} fields"
            problems.append(Problem(line.where, message, "4: question iteration document grade"))
            continue
        question, document, grade = line.fields[0], *line.fields[-2:]
        grades = qrels.setdefault(question, {})
        value = read_grade(grade, line.where)
        if isinstance(value, Problem):
            problems.append(value)
        elif document in grades:
            problems.append(_duplicate_problem(line, "judges", document, question))
        else:
            grades[document] = value
    return _check_sound(path, qrels, problems)


def read_grade(text: str, where: str) -> int | Problem:
    """Return the grade that `text` is, or why it is none."""
    if not _GRADE.fullmatch(text):
        return Problem(
            where, f"the grade {_shorten(text)!r} is no whole number", "write it like 2, 0 or -1"
        )
    if abs(int(text)) > limits.MAX_GRADE:
        hint = f"grades are at most {limits.MAX_GRADE}, and at least -{limits.MAX_GRADE}"
        return Problem(where, f"the grade {text!r} is too large", hint)
    return int(text)


def read_run(path: str | Path) -> Ranking:
    """Read a ranking: `question Q0 document rank score name`, or `question document score`.

    The rank is ignored, as trec_eval does, and so is what stands behind the name. The score
    decides, then the document's id, descending.

    Raises:
        DataError: a line is malformed, a document stands there twice, or a score is not a finite
            number; with the line's number.
    """
    run: Ranking = {}
    problems: list[Problem] = []
    for line in _read_lines(Path(path), problems):
        if len(line.fields) != 3 and len(line.fields) < 6:
            message = f"has {len(line.fields)} fields"
            problems.append(Problem(line.where, message, "6: question Q0 document rank score name"))
            continue
        full = len(line.fields) > 3
        question, document = line.fields[0], line.fields[2 if full else 1]
        scores = run.setdefault(question, {})
        score_text = line.fields[4 if full else 2]
        score = _parse_score(score_text)
        if score is None:
            message = f"the score {_shorten(score_text)!r} is not a finite number"
            problems.append(Problem(line.where, message, "nothing can be ranked by it"))
        elif document in scores:
            problems.append(_duplicate_problem(line, "ranks", document, question))
        else:
            scores[document] = score
    return _check_sound(path, run, problems)


def _read_lines(path: Path, problems: list[Problem]) -> Iterator[_Line]:
    try:
        with reading.open_bytes(path) as raw:
            zipped = raw.peek(2)[:2] == _GZIP
            with cast(BinaryIO, gzip.open(raw)) if zipped else raw as file:
                yield from _split_lines(
                    reading.read_lines(file, limits.MAX_TREC_LINE_BYTES), problems
                )
    except FileNotFoundError:
        raise DataError(str(path), [Problem("the file", "does not exist")]) from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        problem = Problem("the file", f"cannot be read: {reason}", "look at the path")
        raise DataError(str(path), [problem]) from None


def _split_lines(file: Iterable[bytes], problems: list[Problem]) -> Iterator[_Line]:
    """Yield the lines that hold something, without BEIR's header."""
    started = tabs = False
    for number, line in enumerate(file, start=1):
        if len(problems) >= limits.MAX_PROBLEMS:
            return  # it is none of these files, and may be of any length
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problems.append(Problem(f"line {number}", f"is not UTF-8 at byte {error.start}"))
            continue
        if text.lstrip().startswith("#") or not text.strip():
            continue
        if not started and text.split()[0] == "query-id":
            tabs = "\t" in text
        else:
            by = "\t" if tabs and "\t" in text else None
            yield _Line(number, tuple(map(str.strip, text.split(by))))
        started = True


def _check_sound(path: str | Path, values: dict[str, T], problems: list[Problem]) -> dict[str, T]:
    """Return what was found, or raise what is wrong with it."""
    if not values and not problems:
        problems.append(Problem("the file", "is empty"))
    if problems:
        raise DataError(str(path), first_problems(problems, _MAX_PROBLEMS_SHOWN))
    return values


def _duplicate_problem(line: _Line, verb: str, document: str, question: str) -> Problem:
    message = f"{verb} document {document!r} for question {question!r} a second time"
    return Problem(line.where, message, "keep one of the two lines")


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _parse_score(text: str) -> float | None:
    if len(text) > limits.MAX_SCORE_CHARS:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    # Python alone reads 1_000 as a number.
    return value if math.isfinite(value) and "_" not in text else None
