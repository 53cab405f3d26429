"""What people said of a run's answers: the lines of `ratings.jsonl`, read and grouped by answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Literal, get_args

from annotated_types import Interval, MinLen

from harness.errors import DataError, Problem
from harness.ranking.relevance import fold
from harness.records import Span
from harness.store.reader import StoredRun
from harness.store.record_format import RecordFormat

RATINGS = "ratings.jsonl"
Aspect = Literal["overall", "correctness", "directness", "completeness", "helpfulness", "chunks"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
"""What an answer is rated for, each from 0 to 3; `chunks` is the mean grade of what it got."""
ASPECT_OF_METRIC: Mapping[str, Aspect] = {
    "correctness": "correctness",
    "completeness": "completeness",
    "answer_relevance": "directness",
    "context_relevance": "chunks",
}
"""What a form asks that labels the items of a metric that asks a judge."""
TOP_GRADE = 3
Grade = Annotated[int, Interval(ge=0, le=TOP_GRADE)]
Overall = Literal["poor", "fair", "good", "excellent"]
OVERALL: Mapping[Overall, int] = {"poor": 0, "fair": 1, "good": 2, "excellent": 3}
MIN_RELEVANT_GRADE = 2
"""The lowest grade of a chunk that a person called relevant."""
_HINT = "delete it, and import the ratings again"

Person = tuple[str, str]
"""Who rated: no form and a name; or, of who gave none, the form and the number on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedChunk:
    """How relevant a person found a chunk: 0 not, 1 marginally, 2 relevant, 3 highly."""

    span: Span
    grade: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRating:
    """A line of `ratings.jsonl`: what one person said of one answer."""

    source: Literal["form", "thumb"]
    form: str
    """The form's id; or the file of thumbs, and a hash of it."""
    item: str = ""
    """Of the form; empty: a thumb."""
    rater: str
    """The form's number of who rated; of a thumb's user a hash."""
    name: str = ""
    """A pseudonym, where one was given."""
    saved: str = ""
    """When, in UTC; empty: not known."""
    cells: Annotated[tuple[str, ...], MinLen(1)]
    """All that gave this answer."""
    question: str
    chunks: tuple[RatedChunk, ...] = ()
    correctness: Grade | None = None
    directness: Grade | None = None
    completeness: Grade | None = None
    helpfulness: Grade | None = None
    overall: Overall | None = None
    thumb: bool | None = None
    """Up or down; null: from a form."""
    comment: str = ""

    @property
    def person(self) -> Person:
        """Who rated: one name is one person, on whatever forms it stands."""
        name = fold(self.name)
        return ("", name) if name else (self.form, self.rater)

    def grade(self, aspect: Aspect) -> float | None:
        """Return what was said of one aspect, from 0 to 3; None where nothing."""
        if aspect == "chunks":
            return fmean(chunk.grade for chunk in self.chunks) if self.chunks else None
        if aspect == "overall":
            return None if self.overall is None else OVERALL[self.overall]
        value: int | None = getattr(self, aspect)
        return value


RATINGS_FORMAT = RecordFormat(AnswerRating)


@dataclass(frozen=True)
class Rated:
    """One answer, the cells that gave it, and what each person said of it."""

    question: str
    cells: tuple[str, ...]
    lines: tuple[AnswerRating, ...]

    def mean(self, aspect: Aspect) -> float | None:
        """Return the mean over its raters, from 0 to 3; None where nobody said."""
        grades = [value for line in self.lines if (value := line.grade(aspect)) is not None]
        return fmean(grades) if grades else None

    def relevant_share(self) -> float | None:
        """Return the share of its chunks that were called relevant, a mean over its raters."""
        shares = [
            fmean(chunk.grade >= MIN_RELEVANT_GRADE for chunk in line.chunks)
            for line in self.lines
            if line.chunks
        ]
        return fmean(shares) if shares else None


def group_by_known_raters(lines: Sequence[AnswerRating]) -> list[list[AnswerRating]]:
    """Return the lines in groups in which two raters are known to be two people, oldest first.

    Who gave no name may have filled in another form too: then each form is a group of its own.
    """
    groups: dict[str, list[AnswerRating]] = {}
    all_named = all(line.person[0] == "" for line in lines)
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
    lines = tuple(stored.lines(RATINGS, RATINGS_FORMAT, _HINT))
    for number, line in enumerate(lines, start=1):
        if line.question not in stored.questions or not cells.issuperset(line.cells):
            message = "the run lacks its question or its cell"
            raise DataError(str(path), [Problem(f"line {number}", message, _HINT)])
    return lines


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
