"""Filled-in pools, read back: every grade, and everything that is wrong with any of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness import filledin, jsonl
from harness.errors import DataError, Problem, suggest
from harness.numbers import percentage
from harness.pools.collecting import mark
from harness.trec import HIGHEST

Settled = Literal["error", "lowest", "highest"]
"""What is done where people gave one document several grades."""

LOWEST = -1
_NUMBER = re.compile(r"-?\d{1,12}(?:\.0+)?")
_SHOWN = 100


@dataclass(frozen=True)
class Known:
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


def read(paths: Sequence[Path], known: Known, disagreements: Settled = "error") -> Labels:
    """Read filled-in files, JSON Lines or CSV; a line without a grade is counted and left out.

    Raises:
        DataError: with everything that is wrong with any of the files.
    """
    problems: list[Problem] = []
    given: dict[tuple[str, str], list[Grade]] = defaultdict(list)
    empty = 0
    for path in dict.fromkeys(paths):
        for found in _rows_or_problem(path):
            grade = found if isinstance(found, Problem) else _grade(found, known)
            if isinstance(grade, Problem):
                problems.append(Problem(f"{path}, {grade.where}", grade.what, grade.hint))
            elif grade is None:
                empty += 1
            else:
                placed = Grade(grade.question, grade.doc, grade.grade, f"{path}, {grade.where}")
                given[grade.question, grade.doc].append(placed)
    several = [each for each in given.values() if len(each) > 1]
    torn = [each for each in several if len({one.grade for one in each}) > 1]
    order = max if disagreements == "highest" else min
    chosen = tuple(order(each, key=lambda one: one.grade) for each in given.values())
    labels = Labels(chosen, empty, len(several), len(several) - len(torn))
    if disagreements == "error" and torn:
        problems += map(_torn, torn)
        hint = "settle them in the files, or take one: --disagreements lowest, or highest"
        problems.append(Problem("agreement", labels.agreement, hint))
    refuse(problems, "labels")
    return labels


def refuse(problems: Sequence[Problem], what: str) -> None:
    """Raise `DataError` if there are any problems, with as many as can be read."""
    if len(problems) > _SHOWN:
        rest = Problem(f"and {len(problems) - _SHOWN:,} more", "problems of such kinds")
        problems = [*problems[:_SHOWN], rest]
    if problems:
        raise DataError(what, problems)


def _rows_or_problem(path: Path) -> Iterator[jsonl.Row | Problem]:
    try:
        yield from filledin.rows(path)
    except DataError as error:
        yield from error.problems


def _grade(row: jsonl.Row, known: Known) -> Grade | Problem | None:
    data, where = row.data, row.where
    for key in ("id", "doc"):
        if not isinstance(data.get(key), str) or not data[key]:
            return Problem(where, f"lacks {key!r}", "keep the columns that pool wrote")
    question, doc = data["id"], data["doc"]
    if data.get("item") not in (None, "", mark(question, doc)):
        what = f"question {question!r} or document {doc!r} was changed since pool wrote it"
        return Problem(where, what, "take `id` and `doc` from the file that pool wrote")
    if question not in known.questions:
        hint = suggest(question, known.questions) if len(known.questions) < 20 else ""
        return Problem(where, f"the test set has no question {question!r}", hint)
    if _differs(data.get("question"), known.questions[question]):
        what = f"question {question!r} is asked in other words in the test set"
        return Problem(where, what, "take the test set that was pooled")
    if known.documents is not None and doc not in known.documents:
        return Problem(where, f"the corpus has no document {doc!r}", "take `doc` as pool wrote it")
    grade = _number(data.get("grade"))
    if isinstance(grade, int):
        return Grade(question, doc, grade, where)
    hint = f"write a whole number from {LOWEST} to {HIGHEST:,}, or nothing"
    return None if grade is None else Problem(where, f"the grade is {grade}", hint)


def _differs(asked: Any, text: str) -> bool:
    return isinstance(asked, str) and asked.split() != text.split()


def _number(given: Any) -> int | str | None:
    """Return a grade; None where there is none; a text that shows what is none."""
    if given is None or (isinstance(given, str) and not given.strip()):
        return None
    text = str(given).strip()
    if isinstance(given, bool) or not _NUMBER.fullmatch(text):
        return repr(given if len(text) < 50 else f"{text[:50]}…")
    number = int(text.partition(".")[0])
    return number if LOWEST <= number <= HIGHEST else repr(number)


def _torn(given: Sequence[Grade]) -> Problem:
    first, *others = given
    rest = ", ".join(f"{each.grade} at {each.where}" for each in others)
    what = f"question {first.question!r}, document {first.doc!r}: {first.grade} here, {rest}"
    return Problem(first.where, what)
