"""Reads filled-in pools: every grade, and every problem in the files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness import limits
from harness.errors import DataError, Problem, suggest
from harness.files import json_lines
from harness.people import filled_in
from harness.people.pools.pool_collection import mark
from harness.text.numbers import percentage

Settled = Literal["error", "lowest", "highest"]
"""What is done where people gave one document several grades."""

LOWEST_GRADE = -1
_NUMBER = re.compile(r"-?\d{1,12}(?:\.0+)?")
_MAX_PROBLEMS = 100


@dataclass(frozen=True)
class KnownLabels:
    """What labels may speak of: the text of each question by id, and documents if known."""

    questions: Mapping[str, str]
    documents: Collection[str] | None = None


@dataclass(frozen=True)
class Grade:
    """One grade that somebody gave, and where it stands."""

    question: str
    doc: str
    grade: int
    where: str


@dataclass(frozen=True)
class Labels:
    """The grades of several files, one for each question and document."""

    grades: tuple[Grade, ...]
    empty: int
    """Lines without a grade."""
    repeated: int
    """Documents that were judged more than once for a question."""
    agreed: int
    """How many of these were given one grade."""

    @property
    def agreement(self) -> str:
        """How far several judges agree, in words; "" where nothing was judged more than once."""
        if not self.repeated:
            return ""
        share = percentage(self.agreed / self.repeated)
        return (
            f"{self.agreed:,} of {self.repeated:,} judged more than once have one grade ({share})"
        )


def read(paths: Sequence[Path], known: KnownLabels, disagreements: Settled = "error") -> Labels:
    """Read filled-in files, JSON Lines or CSV; a line without a grade is counted and left out.

    Raises:
        DataError: with everything that is wrong with any of the files.
    """
    problems: list[Problem] = []
    by_document: dict[tuple[str, str], list[Grade]] = defaultdict(list)
    empty = 0
    for path in dict.fromkeys(paths):
        for row in _rows_or_problem(path):
            grade = row if isinstance(row, Problem) else _parse_grade(row, known)
            if isinstance(grade, Problem):
                problems.append(Problem(f"{path}, {grade.where}", grade.what, grade.hint))
            elif grade is None:
                empty += 1
            else:
                located = Grade(grade.question, grade.doc, grade.grade, f"{path}, {grade.where}")
                by_document[grade.question, grade.doc].append(located)
    several = [grades for grades in by_document.values() if len(grades) > 1]
    disagreed = [grades for grades in several if len({one.grade for one in grades}) > 1]
    order = max if disagreements == "highest" else min
    chosen = tuple(order(grades, key=lambda one: one.grade) for grades in by_document.values())
    labels = Labels(chosen, empty, len(several), len(several) - len(disagreed))
    if disagreements == "error" and disagreed:
        problems += map(_disagreement, disagreed)
        hint = "settle them in the files, or take one: --disagreements lowest, or highest"
        problems.append(Problem("agreement", labels.agreement, hint))
    raise_problems(problems, "labels")
    return labels


def raise_problems(problems: Sequence[Problem], about: str) -> None:
    """Raise `DataError` if there are any problems, with as many as can be read."""
    if len(problems) > _MAX_PROBLEMS:
        rest = Problem(f"and {len(problems) - _MAX_PROBLEMS:,} more", "problems of such kinds")
        problems = [*problems[:_MAX_PROBLEMS], rest]
    if problems:
        raise DataError(about, problems)


def _rows_or_problem(path: Path) -> Iterator[json_lines.JsonLine | Problem]:
    try:
        yield from filled_in.read_rows(path)
    except DataError as error:
        yield from error.problems


def _parse_grade(row: json_lines.JsonLine, known: KnownLabels) -> Grade | Problem | None:
    data, where = row.data, row.where
    for key in ("id", "doc"):
        if not isinstance(data.get(key), str) or not data[key]:
            return Problem(where, f"lacks {key!r}", "keep the columns that pool wrote")
    question, doc = data["id"], data["doc"]
    if data.get("item") not in (None, "", mark(question, doc)):
        message = f"question {question!r} or document {doc!r} was changed since pool wrote it"
        return Problem(where, message, "take `id` and `doc` from the file that pool wrote")
    if question not in known.questions:
        hint = suggest(question, known.questions) if len(known.questions) < 20 else ""
        return Problem(where, f"the test set has no question {question!r}", hint)
    if _is_other_text(data.get("question"), known.questions[question]):
        message = f"question {question!r} is asked in other words in the test set"
        return Problem(where, message, "take the test set that was pooled")
    if known.documents is not None and doc not in known.documents:
        return Problem(where, f"the corpus has no document {doc!r}", "take `doc` as pool wrote it")
    grade = _parse_number(data.get("grade"))
    if isinstance(grade, int):
        return Grade(question, doc, grade, where)
    hint = f"write a whole number from {LOWEST_GRADE} to {limits.MAX_GRADE:,}, or nothing"
    return None if grade is None else Problem(where, f"the grade is {grade}", hint)


def _is_other_text(question: Any, text: str) -> bool:
    return isinstance(question, str) and question.split() != text.split()


def _parse_number(value: Any) -> int | str | None:
    """Return a grade; None where there is none; a text that shows what is none."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    text = str(value).strip()
    if isinstance(value, bool) or not _NUMBER.fullmatch(text):
        return repr(value if len(text) < 50 else f"{text[:50]}…")
    number = int(text.partition(".")[0])
    return number if LOWEST_GRADE <= number <= limits.MAX_GRADE else repr(number)


def _disagreement(grades: Sequence[Grade]) -> Problem:
    first, *others = grades
    rest = ", ".join(f"{grade.grade} at {grade.where}" for grade in others)
    message = f"question {first.question!r}, document {first.doc!r}: {first.grade} here, {rest}"
    return Problem(first.where, message)
