"""The questions as they were asked, and the texts that hits have."""

from __future__ import annotations

from pydantic import Field

from harness.stored.strict import Stored, Whole


class PassageLine(Stored):
    """A gold passage of a question."""

    doc: str
    start: Whole
    end: Whole
    text: str
    group: str
    grade: Whole


class QuestionLine(Stored):
    """A line of `questions.jsonl`: a question as it was asked, and its gold."""

    id: str
    text: str
    answers: list[str]
    keywords: list[str]
    passages: list[PassageLine]
    documents: dict[str, Whole] | None
    category: str | None
    difficulty: str | None
    answerable: bool
    cluster: str | None = Field(default=None, description="questions drawn together for intervals")


class TextLine(Stored):
    """A line of `texts.jsonl`: the text of one span that some hit has."""

    doc: str
    start: Whole
    end: Whole
    text: str
