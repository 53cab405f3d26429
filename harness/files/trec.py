"""Read judgements (qrels) and rankings (runs) in TREC and BEIR format."""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
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


class _Malformed(Exception):
    """What is wrong with a line, and what would put it right."""


def read_qrels(path: str | Path) -> Qrels:
    """Read judgements: `question iteration document grade`, or BEIR's three columns.

    Any white space separates; under a BEIR header with tabs, a tab does, so that ids may hold
    spaces. Lines that start with # and empty ones are left out; the file may be gzipped.

    Raises:
        DataError: a line is malformed or judges a document twice; with the line's number.
    """
    return _read(Path(path), _parse_judgement, "judges")


def read_run(path: str | Path) -> Ranking:
    """Read a ranking: `question Q0 document rank score name`, or `question document score`.

    The rank is ignored, as trec_eval does, and so is what stands behind the name. The score
    decides, then the document's id, descending.

    Raises:
        DataError: a line is malformed, a document stands there twice, or a score is not a finite
            number; with the line's number.
    """
    return _read(Path(path), _parse_result, "ranks")


def _parse_judgement(fields: Sequence[str]) -> tuple[str, str, int]:
    if len(fields) not in (3, 4):
        raise _Malformed(f"has {len(fields)} fields", "4: question iteration document grade")
    question, document, text = fields[0], *fields[-2:]
    if not _GRADE.fullmatch(text):
        message = f"the grade {_shorten(text)!r} is no whole number"
        raise _Malformed(message, "write it like 2, 0 or -1")
    if abs(int(text)) > limits.MAX_GRADE:
        hint = f"grades are at most {limits.MAX_GRADE}, and at least -{limits.MAX_GRADE}"
        raise _Malformed(f"the grade {text!r} is too large", hint)
    return question, document, int(text)


def _parse_result(fields: Sequence[str]) -> tuple[str, str, float]:
    if len(fields) != 3 and len(fields) < 6:
        raise _Malformed(f"has {len(fields)} fields", "6: question Q0 document rank score name")
    full = len(fields) > 3
    text = fields[4 if full else 2]
    try:
        # Python alone reads 1_000 as a number.
        is_number = len(text) <= limits.MAX_SCORE_CHARS and "_" not in text
        score = float(text) if is_number else math.nan
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        message = f"the score {_shorten(text)!r} is not a finite number"
        raise _Malformed(message, "nothing can be ranked by it")
    return fields[0], fields[2 if full else 1], score


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _read(
    path: Path, parse: Callable[[Sequence[str]], tuple[str, str, T]], verb: str
) -> dict[str, dict[str, T]]:
    """Return what each line says of a question and a document."""
    values: dict[str, dict[str, T]] = {}
    problems: list[Problem] = []
    for where, fields in _read_lines(path, problems):
        try:
            question, document, value = parse(fields)
        except _Malformed as error:
            problems.append(Problem(where, *error.args))
            continue
        of_question = values.setdefault(question, {})
        if document in of_question:
            message = f"{verb} document {document!r} for question {question!r} a second time"
            problems.append(Problem(where, message, "keep one of the two lines"))
        of_question.setdefault(document, value)
    if not values and not problems:
        problems.append(Problem("the file", "is empty"))
    if problems:
        raise DataError(str(path), first_problems(problems, _MAX_PROBLEMS_SHOWN))
    return values


def _read_lines(path: Path, problems: list[Problem]) -> Iterator[tuple[str, list[str]]]:
    """Yield the place and the fields of each line; what is not UTF-8 is added to `problems`."""
    try:
        with reading.open_bytes(path) as raw:
            zipped = raw.peek(2)[:2] == _GZIP
            with cast(BinaryIO, gzip.open(raw)) if zipped else raw as file:
                lines = reading.read_lines(file, limits.MAX_TREC_LINE_BYTES)
                yield from _split_lines(lines, problems)
    except FileNotFoundError:
        raise DataError(str(path), [Problem("the file", "does not exist")]) from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        problem = Problem("the file", f"cannot be read: {reason}", "look at the path")
        raise DataError(str(path), [problem]) from None


def _split_lines(file: Iterable[bytes], problems: list[Problem]) -> Iterator[tuple[str, list[str]]]:
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
            yield f"line {number}", list(map(str.strip, text.split(by)))
        started = True
