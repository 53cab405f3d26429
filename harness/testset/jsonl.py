"""JSON Lines: the harness's own test-set format, one question a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le, MinLen
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    model_validator,
)

from harness.corpus import Corpus, normalised
from harness.errors import Problem, suggest
from harness.jsonl import Row, rows
from harness.locate import locate
from harness.records import Document, Passage, Question, Span
from harness.testset import Note, readers
from harness.trec import HIGHEST

_Text = Annotated[str, MinLen(1)]


def _as_text(id_: Any) -> Any:
    """Accept a number where an id is expected."""
    return str(id_) if isinstance(id_, int) and not isinstance(id_, bool) else id_


def _graded(documents: Any) -> Any:
    """Accept a list of ids where ids with grades are expected: each has grade 1."""
    if isinstance(documents, list) and all(isinstance(each, str) for each in documents):
        return dict.fromkeys(documents, 1)
    return documents


class Evidence(BaseModel):
    """A passage that answers the question: a quote, offsets, or both."""

    model_config = ConfigDict(extra="forbid")

    doc: _Text
    quote: _Text | None = None
    start: Annotated[int, Ge(0)] | None = None
    end: Annotated[int, Ge(1)] | None = None
    grade: Annotated[int, Ge(1), Le(HIGHEST)] = 1
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


class QuestionRow(BaseModel):
    """One line of the file. Everything but `question` may be left out."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[
        _Text | None, BeforeValidator(_as_text, json_schema_input_type=_Text | int | None)
    ] = None
    question: _Text
    answers: list[str] = Field(default_factory=list, description="reference answers")
    answer: str | None = Field(None, description="a single reference answer")
    keywords: list[_Text] = Field(default_factory=list)
    evidence: list[Evidence] = Field(default_factory=list)
    documents: Annotated[
        dict[str, Annotated[int, Strict(), Ge(-HIGHEST), Le(HIGHEST)]] | None,
        BeforeValidator(_graded, json_schema_input_type=dict[str, int] | list[str] | None),
    ] = Field(None, description="id to grade, or ids")
    category: _Text | None = None
    difficulty: Literal["easy", "medium", "hard"] | str | None = None
    answerable: bool = True

    def references(self) -> list[str]:
        """Return all reference answers."""
        return [*self.answers, *([self.answer] if self.answer is not None else [])]


@readers.register
@dataclass(frozen=True)
class Jsonl:
    """A .jsonl file: `question`, and any of `id answers keywords evidence documents category`.

    Evidence is `{doc, quote}` or `{doc, start, end}`, with `group` and `grade` if need be. Where
    both are given, the quote must stand at the offsets.
    """

    path: str

    name: ClassVar[str] = "jsonl"
    version: ClassVar[int] = 1

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a file of that name."""
        return path.is_file() and path.suffix == ".jsonl"

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the file's order."""
        seen: dict[str, int] = {}
        for row in rows(Path(self.path)):
            if isinstance(row, Problem):
                yield row
                continue
            try:
                data = QuestionRow.model_validate(row.data)
            except ValidationError as error:
                yield from problems_of(row, error)
                continue
            id_ = data.id if data.id is not None else f"line-{row.line}"
            if id_ in seen:
                what = f"the id {id_!r} is taken by line {seen[id_]}"
                yield Problem(row.where, what, "make each id unique")
                continue
            seen[id_] = row.line
            yield from _question(row, id_, data, corpus)


def _question(
    row: Row, id_: str, data: QuestionRow, corpus: Corpus
) -> Iterator[Question | Problem | Note]:
    passages: list[Passage] = []
    sound = True
    numbers = count(1)
    for evidence in data.evidence:
        number = next(numbers)
        for found in _passages(row, number, evidence, corpus):
            if isinstance(found, Passage):
                passages.append(found)
            else:
                sound = sound and isinstance(found, Note)
                yield found
    for doc in data.documents or {}:
        if doc not in corpus.documents:
            sound = False
            yield _unknown(row, f"the label for document {doc!r}", doc, corpus)
    if not data.answerable and (passages or any(data.references())):
        sound = False
        what = "has answerable: false, and yet an answer or evidence"
        yield Problem(row.where, what, "take one of the two out")
    if sound:
        yield question_of(id_, data, passages)


def question_of(id_: str, data: QuestionRow, passages: Sequence[Passage]) -> Question:
    """Return the question that a checked row and its resolved passages make."""
    return Question(
        id=id_,
        text=data.question,
        answers=tuple(normalised(answer) for answer in data.references() if answer.strip()),
        passages=tuple(passages),
        documents=data.documents,
        keywords=tuple(normalised(keyword) for keyword in data.keywords),
        category=data.category,
        difficulty=data.difficulty,
        answerable=data.answerable,
    )


def _passages(
    row: Row, number: int, evidence: Evidence, corpus: Corpus
) -> Iterator[Passage | Problem | Note]:
    document = corpus.documents.get(evidence.doc)
    if document is None:
        yield _unknown(row, f"evidence in document {evidence.doc!r}", evidence.doc, corpus)
        return
    group = evidence.group or f"#{number}"
    if evidence.start is not None and evidence.end is not None:
        yield _at(row, evidence, document, group)
        return
    quote = normalised(evidence.quote or "")
    located = locate(quote, document.text)
    if located is None:
        what = f"the evidence {_short(quote)} is not in document {evidence.doc!r}"
        yield Problem(row.where, what, "quote the document to the letter")
        return
    if located.how != "exact":
        yield Note(f"a quote was found only by {located.how} matching in {evidence.doc!r}")
    for start, end in located.places:
        span = Span(document.id, start, end)
        yield Passage(span, document.text[start:end], group, evidence.grade)


def _at(row: Row, evidence: Evidence, document: Document, group: str) -> Passage | Problem:
    assert evidence.start is not None
    assert evidence.end is not None
    there = document.text[evidence.start : evidence.end]
    place = f"{evidence.doc!r} at {evidence.start}-{evidence.end}"
    if evidence.end > len(document.text) or not there.strip():
        what = f"there is no text in document {place}; it has {len(document.text)} characters"
        return Problem(row.where, what, "give a quote in place of the offsets")
    if evidence.quote is not None and normalised(evidence.quote) != there:
        what = f"the evidence {_short(evidence.quote)} is not in document {place}"
        hint = f"the text there is {_short(there)}; without start and end the quote is searched for"
        return Problem(row.where, what, hint)
    span = Span(document.id, evidence.start, evidence.end)
    return Passage(span, there, group, evidence.grade)


def _unknown(row: Row, what: str, doc: str, corpus: Corpus) -> Problem:
    known = sorted(corpus.documents)
    hint = suggest(doc, known) if len(known) <= 10 else suggest(doc, known).split(" choose from")[0]
    if hint.startswith("choose from") and len(known) > 10:
        hint = f"the corpus has {len(known)} documents, {known[0]!r} for one"
    return Problem(row.where, f"{what}: the corpus has no such document", hint)


def problems_of(row: Row, error: ValidationError) -> Iterator[Problem]:
    """Yield what is wrong with a row, in the words of its author."""
    for each in error.errors():
        where = ".".join(str(part) for part in each["loc"])
        if each["type"] == "extra_forbidden":
            known = Evidence if each["loc"][0] == "evidence" else QuestionRow
            what = f"unknown key {where!r}"
            yield Problem(row.where, what, suggest(str(each["loc"][-1]), known.model_fields))
        else:
            message = each["msg"].removeprefix("Value error, ")
            yield Problem(row.where, f"{where}: {message}" if where else message)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
