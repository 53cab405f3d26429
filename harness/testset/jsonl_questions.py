"""Test-set reader for JSON Lines, the harness's own format: one question a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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

from harness import limits
from harness.corpus import Corpus
from harness.errors import Problem, suggest
from harness.files.data_rows import id_as_text
from harness.files.json_lines import JsonLine, rows
from harness.files.reading import FileShape
from harness.records import Document, Passage, Question, Span
from harness.testset import Draft, Note, UnknownDocument, readers
from harness.text.spans import locate
from harness.text.words import normalise

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


OTHER_NAMES: Mapping[str, str] = {
    "query": "question",
    "relevant_docs": "documents",
    "reference_answers": "answers",
    "ground_truths": "answers",
    "ground_truth": "answer",
}
"""What tutorials call our keys."""
_RETRIEVED = "contexts"


def rename_keys(data: Mapping[str, Any]) -> tuple[dict[str, Any], list[Note]]:
    """Return a row with our keys in the place of those that tutorials use, and which those were."""
    names = {
        key: OTHER_NAMES[key] for key in data if key in OTHER_NAMES and OTHER_NAMES[key] not in data
    }
    notes = [Note(f"{key!r} is read as {name!r}") for key, name in names.items()]
    return {names.get(key, key): value for key, value in data.items()}, notes


def _with_grades(documents: Any) -> Any:
    """Accept ids, or pairs of an id and a grade, where ids with grades are expected."""
    if isinstance(documents, Mapping):
        return {id_as_text(id_): grade for id_, grade in documents.items()}
    if isinstance(documents, list | tuple):
        pairs = [item if isinstance(item, list | tuple) else (item, 1) for item in documents]
        if all(len(pair) == 2 and isinstance(id_as_text(pair[0]), str) for pair in pairs):
            return {id_as_text(id_): grade for id_, grade in pairs}
    return documents


class Origin(BaseModel):
    """What a question was drafted by, and the passages that it was drafted from."""

    model_config = ConfigDict(extra="forbid")

    by: str
    passages: list[Evidence] = Field(default_factory=list)


_Documents = dict[str, int] | list[str | int | tuple[str | int, int]] | None


class QuestionRow(BaseModel):
    """One line of the file. Everything but `question` may be left out."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[
        _Text | None, BeforeValidator(id_as_text, json_schema_input_type=_Text | int | None)
    ] = None
    question: _Text
    answers: list[str] = Field(default_factory=list, description="reference answers")
    answer: str | None = Field(None, description="a single reference answer")
    keywords: list[_Text] = Field(default_factory=list)
    evidence: list[Evidence] = Field(default_factory=list)
    documents: Annotated[
        dict[str, Annotated[int, Strict(), Ge(-limits.MAX_GRADE), Le(limits.MAX_GRADE)]] | None,
        BeforeValidator(_with_grades, json_schema_input_type=_Documents),
    ] = Field(None, description="id to grade, or ids")
    category: _Text | None = None
    difficulty: Literal["easy", "medium", "hard"] | str | None = None
    answerable: bool = True
    draft: Annotated[bool, Strict()] = Field(
        False, description="true until a person has accepted it"
    )
    drafted: Origin | None = Field(None, description="what `harness draft` made it of")

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
    shape: ClassVar[FileShape] = FileShape(suffixes=(".jsonl",))

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the file's order."""
        yield from resolve_questions(rows(Path(self.path)), corpus)


@dataclass(frozen=True)
class ParsedRow:
    """A row that has the form of `QuestionRow`; `row` has our keys in place of other names."""

    id: str
    row: JsonLine
    question: QuestionRow


def parse_rows(
    rows: Iterable[JsonLine | Problem | Note], unnamed: str = "line"
) -> Iterator[ParsedRow | Problem | Note]:
    """Yield each row as a question; one without an id is named by its number, after `unnamed`.

    Problems and notes among the rows are yielded as they are.
    """
    seen: dict[str, str] = {}
    for row in rows:
        if isinstance(row, Problem | Note):
            yield row
            continue
        renamed, notes = rename_keys(row.data)
        yield from notes
        try:
            question = QuestionRow.model_validate(renamed)
        except ValidationError as error:
            yield from describe_problems(row, error)
            continue
        id_ = question.id if question.id is not None else f"{unnamed}-{row.line}"
        if id_ in seen:
            message = f"the id {id_!r} is taken by {seen[id_]}"
            yield Problem(row.where, message, "make each id unique")
        else:
            seen[id_] = row.where
            yield ParsedRow(id_, replace(row, data=renamed), question)


def resolve_questions(
    rows: Iterable[JsonLine | Problem | Note], corpus: Corpus, unnamed: str = "line"
) -> Iterator[Question | Problem | Note]:
    """Yield the question of each row, its labels resolved in the corpus; see `parse_rows`."""
    for parsed in parse_rows(rows, unnamed):
        if isinstance(parsed, ParsedRow):
            yield from _resolve_question(parsed.row.where, parsed.id, parsed.question, corpus)
        else:
            yield parsed


def _resolve_question(
    where: str, id_: str, data: QuestionRow, corpus: Corpus
) -> Iterator[Question | Problem | Note]:
    evidence_found: list[Passage] = []
    sound = True
    for number, evidence in enumerate(data.evidence, start=1):
        for item in find_passages(where, number, evidence, corpus):
            if isinstance(item, Passage):
                evidence_found.append(item)
            else:
                sound = sound and isinstance(item, Note)
                yield item
    for doc in data.documents or {}:
        if doc not in corpus.documents:
            sound = False
            yield unknown_document(where, f"the label for document {doc!r}", doc, corpus)
    if not data.answerable and (evidence_found or any(data.references())):
        sound = False
        message = "has answerable: false, and yet an answer or evidence"
        yield Problem(where, message, "take one of the two out")
    if sound:
        yield build_question(id_, data, evidence_found)
        if data.draft:
            yield Draft(id_)


def build_question(id_: str, data: QuestionRow, passages: Sequence[Passage]) -> Question:
    """Return the question that a checked row and its resolved passages make."""
    return Question(
        id=id_,
        text=data.question,
        answers=tuple(normalise(answer) for answer in data.references() if answer.strip()),
        passages=tuple(passages),
        documents=data.documents,
        keywords=tuple(normalise(keyword) for keyword in data.keywords),
        category=data.category,
        difficulty=data.difficulty,
        answerable=data.answerable,
    )


def describe_problems(row: JsonLine, error: ValidationError) -> Iterator[Problem]:
    """Yield what is wrong with a row, in the words of its author."""
    for detail in error.errors():
        where = ".".join(str(part) for part in detail["loc"])
        if detail["type"] == "extra_forbidden":
            model = Evidence if detail["loc"][0] == "evidence" else QuestionRow
            text = f"unknown key {where!r}"
            hint = suggest(str(detail["loc"][-1]), model.model_fields)
            if detail["loc"] == (_RETRIEVED,):
                hint = "contexts are what was retrieved: `evaluate --answers FILE` reads them"
            yield Problem(row.where, text, hint)
        else:
            message = detail["msg"].removeprefix("Value error, ")
            yield Problem(row.where, f"{where}: {message}" if where else message)
