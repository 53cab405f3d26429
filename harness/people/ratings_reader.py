"""Reads `ratings.jsonl`: each rated answer with all its ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

from pydantic import ValidationError

from harness.errors import DataError, Problem
from harness.people.rating_records import RATINGS_FORMAT, AnswerRating, Overall
from harness.ranking.relevance import fold
from harness.store import integrity
from harness.store.reader import StoredRun

RATINGS = "ratings.jsonl"
Aspect = Literal["overall", "correctness", "directness", "completeness", "helpfulness", "chunks"]
ASPECTS: tuple[Aspect, ...] = (
    "overall", "correctness", "directness", "completeness", "helpfulness", "chunks",
)  # fmt: skip
"""What an answer is rated for, each from 0 to 3; `chunks` is the mean grade of what it got."""
TOP_GRADE = 3
OVERALL: Mapping[Overall, int] = {"poor": 0, "fair": 1, "good": 2, "excellent": 3}
MIN_RELEVANT_GRADE = 2
"""The lowest grade of a chunk that a person called relevant."""

Person = tuple[str, str]
"""Who rated: no form and a name; or, of who gave none, the form and the number on it."""


@dataclass(frozen=True)
class Rated:
    """One answer, the cells that gave it, and what each person said of it."""

    question: str
    cells: tuple[str, ...]
    lines: tuple[AnswerRating, ...]

    def mean(self, aspect: Aspect) -> float | None:
        """Return the mean over its raters, from 0 to 3; None where nobody said."""
        grades = [value for line in self.lines if (value := grade(line, aspect)) is not None]
        return fmean(grades) if grades else None

    def relevant_share(self) -> float | None:
        """Return the share of its chunks that were called relevant, a mean over its raters."""
        shares = [
            fmean(chunk.grade >= MIN_RELEVANT_GRADE for chunk in line.chunks)
            for line in self.lines
            if line.chunks
        ]
        return fmean(shares) if shares else None


def grade(line: AnswerRating, aspect: Aspect) -> float | None:
    """Return what one person said of one aspect, from 0 to 3; None where nothing."""
    if aspect == "chunks":
        return fmean(chunk.grade for chunk in line.chunks) if line.chunks else None
    if aspect == "overall":
        return None if line.overall is None else OVERALL[line.overall]
    value: int | None = getattr(line, aspect)
    return value


def person(line: AnswerRating) -> Person:
    """Return who rated: one name is one person, on whatever forms it stands."""
    name = fold(line.name)
    return ("", name) if name else (line.form, line.rater)


def group_by_known_raters(lines: Sequence[AnswerRating]) -> list[list[AnswerRating]]:
    """Return the lines in groups in which two raters are known to be two people, oldest first.

    Who gave no name may have filled in another form too: then each form is a group of its own.
    """
    groups: dict[str, list[AnswerRating]] = {}
    all_named = all(person(line)[0] == "" for line in lines)
    for line in sorted(lines, key=lambda line: line.saved):
        groups.setdefault("" if all_named else line.form, []).append(line)
    return list(groups.values())


def read(stored: StoredRun) -> tuple[AnswerRating, ...]:
    """Return what people said of a run and did not take back; nothing where nobody was asked.

    Of the thumbs of one user on one answer the latest counts: by time, else the last imported.

    Raises:
        DataError: the file is damaged, or speaks of what the run does not have.
    """
    lines = read_all(stored)
    latest: dict[tuple[str, str, str], tuple[str, int]] = {}
    for index, line in enumerate(lines):
        if line.source == "thumb" and line.rater:
            key = (line.rater, line.cells[0], line.question)
            latest[key] = max(latest.get(key, ("", 0)), (line.saved, index))
    counting = {index for _, index in latest.values()}
    return tuple(
        line
        for index, line in enumerate(lines)
        if line.source == "form" or not line.rater or index in counting
    )


def read_all(stored: StoredRun) -> tuple[AnswerRating, ...]:
    """Return all lines of the file, in its order: thumbs are in the order of their import.

    Raises:
        DataError: the file is damaged, or speaks of what the run does not have.
    """
    path = stored.folder / RATINGS
    if not path.is_file() or (stored.sums is not None and RATINGS not in stored.sums):
        return ()
    cells = {cell.name for cell in stored.run.cells}
    try:
        return tuple(_parse_lines(path, cells, stored))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(str(path), [Problem("the file", str(error), _HINT)]) from None


_HINT = "delete it, and import the ratings again"


def _parse_lines(path: Path, cells: set[str], stored: StoredRun) -> Iterator[AnswerRating]:
    raw = integrity.read_as(stored.folder, RATINGS, stored.sums)
    for number, text in enumerate(raw.splitlines(), start=1):
        message = ""
        try:
            line = RATINGS_FORMAT.parse(text)
        except ValidationError as error:
            first = error.errors()[0]
            message = f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
        else:
            if line.question not in stored.questions or not cells.issuperset(line.cells):
                message = "the run lacks its question or its cell"
        if message:
            raise DataError(str(path), [Problem(f"line {number}", message, _HINT)])
        yield line


def rated_answers(lines: Sequence[AnswerRating]) -> list[Rated]:
    """Return each answer that forms asked of, once, however many forms and raters it had.

    Two items of one question are one answer where a cell gave both.
    """
    by_question: dict[str, list[tuple[set[str], list[AnswerRating]]]] = {}
    for line in lines:
        if line.source != "form":
            continue
        groups = by_question.setdefault(line.question, [])
        cells, group_lines = set(line.cells), [line]
        for group in [group for group in groups if group[0] & cells]:
            groups.remove(group)
            cells, group_lines = cells | group[0], [*group[1], *group_lines]
        groups.append((cells, group_lines))
    return [
        Rated(question, tuple(sorted(cells)), tuple(group_lines))
        for question, groups in by_question.items()
        for cells, group_lines in groups
    ]
