"""Resolve evidence as people write it (quotes, offsets) to spans of the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from annotated_types import Ge, Le, MinLen
from pydantic import BaseModel, ConfigDict, Field, model_validator

from harness import limits
from harness.corpus import Corpus
from harness.errors import Problem, suggest
from harness.records import Document, Passage, Span
from harness.testset import Note, UnknownDocument
from harness.text.normal_form import normalise
from harness.text.quotes import locate

_Text = Annotated[str, MinLen(1)]
_MAX_IDS_COMPARED = 1000
"""Documents up to which a misspelt id is compared with each."""


class Evidence(BaseModel):
    """A passage that answers the question: a quote, offsets, or both."""

    model_config = ConfigDict(extra="forbid")

    doc: _Text
    quote: _Text | None = None
    start: Annotated[int, Ge(0)] | None = None
    end: Annotated[int, Ge(1)] | None = None
    grade: Annotated[int, Ge(1), Le(limits.MAX_GRADE)] = 1
    group: _Text | None = Field(None, description="passages of one group say the same")

    @model_validator(mode="after")
    def _has_a_place(self) -> Evidence:
        if (self.start is None) != (self.end is None):
            raise ValueError("start and end belong together")
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise ValueError(f"end ({self.end}) must be behind start ({self.start})")
        if self.quote is None and self.start is None:
            raise ValueError("a quote, or start and end, must say where it is")
        return self


def find_passages(
    where: str, number: int, evidence: Evidence, corpus: Corpus
) -> Iterator[Passage | Problem | Note]:
    """Yield the passages that one piece of evidence stands for, or what is wrong with it.

    `number` names its group where it has none; `where` is the place that problems name.
    """
    document = corpus.documents.get(evidence.doc)
    if document is None:
        yield unknown_document(
            where, f"evidence in document {evidence.doc!r}", evidence.doc, corpus
        )
        return
    group = evidence.group or f"#{number}"
    if evidence.start is not None and evidence.end is not None:
        yield _passage_at(where, evidence, document, group)
        return
    quote = normalise(evidence.quote or "")
    located = locate(quote, document.text)
    if located is None:
        message = f"the evidence {shorten_quote(quote)} is not in document {evidence.doc!r}"
        yield Problem(where, message, "quote the document to the letter")
        return
    if located.how != "exact":
        yield Note(f"a quote was found only by {located.how} matching in {evidence.doc!r}")
    for start, end in located.places:
        span = Span(document.id, start, end)
        yield Passage(span, document.text[start:end], group, evidence.grade)


def _passage_at(
    where: str, evidence: Evidence, document: Document, group: str
) -> Passage | Problem:
    assert evidence.start is not None
    assert evidence.end is not None
    text = document.text[evidence.start : evidence.end]
    place = f"{evidence.doc!r} at {evidence.start}-{evidence.end}"
    if evidence.end > len(document.text) or not text.strip():
        message = f"there is no text in document {place}; it has {len(document.text)} characters"
        return Problem(where, message, "give a quote in place of the offsets")
    if evidence.quote is not None and normalise(evidence.quote) != text:
        message = f"the evidence {shorten_quote(evidence.quote)} is not in document {place}"
        there = f"the text there is {shorten_quote(text)}"
        hint = f"{there}; without start and end the quote is searched for"
        return Problem(where, message, hint)
    span = Span(document.id, evidence.start, evidence.end)
    return Passage(span, text, group, evidence.grade)


def unknown_document(where: str, message: str, doc: str, corpus: Corpus) -> UnknownDocument:
    """Return the problem of a label that names a document which the corpus does not hold."""
    count = len(corpus.documents)
    if count == 0:
        return UnknownDocument(where, f"{message}: the corpus has no such document")
    # In a large corpus, looking for a like name takes seconds, and every label may be wrong.
    ids = sorted(corpus.documents) if count <= _MAX_IDS_COMPARED else [min(corpus.documents)]
    hint = suggest(doc, ids) if count <= 10 else suggest(doc, ids).split(" choose from")[0]
    if hint.startswith("choose from") and count > 10:
        hint = f"the corpus has {count} documents, {ids[0]!r} for one"
    return UnknownDocument(where, f"{message}: the corpus has no such document", hint)


def shorten_quote(text: str) -> str:
    """Return `text` as messages quote it, cut after 60 characters."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
