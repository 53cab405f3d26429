"""What people said of a run's answers, as its `ratings.jsonl` and its forms' keys hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval, MinLen

from harness.records import Span, Whole
from harness.store.record_format import RecordFormat

Source = Literal["form", "thumb"]

Overall = Literal["poor", "fair", "good", "excellent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedChunk:
    """How relevant a person found a chunk: 0 not, 1 marginally, 2 relevant, 3 highly."""

    span: Span
    grade: Annotated[int, Interval(ge=0, le=3)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRating:
    """A line of `ratings.jsonl`: what one person said of one answer."""

    source: Source
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
    correctness: Annotated[int, Interval(ge=0, le=3)] | None = None
    directness: Annotated[int, Interval(ge=0, le=3)] | None = None
    completeness: Annotated[int, Interval(ge=0, le=3)] | None = None
    helpfulness: Annotated[int, Interval(ge=0, le=3)] | None = None
    overall: Overall | None = None
    thumb: bool | None = None
    """Up or down; null: from a form."""
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormItem:
    """One item of a form, and what stands behind it; the form itself says nothing of cells."""

    item: str
    cells: tuple[str, ...]
    """All that gave this answer from these chunks."""
    question: str
    chunks: tuple[Span, ...]
    """In the order shown, which is not their rank."""
    raters: tuple[Whole, ...]
    """The numbers of those who are to rate it, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormFile:
    """`forms/<id>.json`: the key to a rating form that was written from a run."""

    schema: Literal[1] = 1
    id: str
    run: str
    seed: int
    raters: Whole
    items: tuple[FormItem, ...]
    sum: str | None = None
    """The SHA-256 of all the rest."""


RATINGS_FORMAT = RecordFormat(AnswerRating)
FORM_KEYS = RecordFormat(FormFile)
