"""What people said of a run's answers: the lines of `ratings.jsonl`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from harness.stored.records import SpanLine
from harness.stored.strict import Stored

Source = Literal["form", "thumb"]
Overall = Literal["poor", "fair", "good", "excellent"]


class RatedChunkLine(Stored):
    """How relevant a person found a chunk: 0 not, 1 marginally, 2 relevant, 3 highly."""

    span: SpanLine
    grade: int = Field(ge=0, le=3)


class RatingLine(Stored):
    """A line of `ratings.jsonl`: what one person said of one answer."""

    source: Source
    form: str = Field(description="the form's id; or the file of thumbs, and a hash of it")
    item: str = Field(default="", description="of the form; empty: a thumb")
    rater: str = Field(description="the form's number of who rated; of a thumb's user a hash")
    name: str = Field(default="", description="a pseudonym, where one was given")
    saved: str = Field(default="", description="when, in UTC; empty: not known")
    cells: list[str] = Field(min_length=1, description="all that gave this answer")
    question: str
    chunks: list[RatedChunkLine] = Field(default=[])
    correctness: int | None = Field(default=None, ge=0, le=3)
    directness: int | None = Field(default=None, ge=0, le=3)
    completeness: int | None = Field(default=None, ge=0, le=3)
    helpfulness: int | None = Field(default=None, ge=0, le=3)
    overall: Overall | None = None
    thumb: bool | None = Field(default=None, description="up or down; null: from a form")
    comment: str = ""


class FormItemLine(Stored):
    """One item of a form, and what stands behind it; the form itself says nothing of cells."""

    item: str
    cells: list[str] = Field(description="all that gave this answer from these chunks")
    question: str
    chunks: list[SpanLine] = Field(description="in the order shown, which is not their rank")
    raters: list[int] = Field(description="the numbers of those who are to rate it, from 1")


class FormFile(Stored):
    """`forms/<id>.json`: the key to a rating form that was written from a run."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True
    )

    schema_: Literal[1] = Field(default=1, alias="schema")
    id: str
    run: str
    seed: int
    raters: int
    items: list[FormItemLine]
    sum: str | None = Field(default=None, description="the SHA-256 of all the rest")
