"""JSON Lines: the harness's own test-set format, one question a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
)

from harness.corpus import Corpus, normalised
from harness.errors import Problem, suggest
from harness.jsonl import Row, rows
from harness.records import Passage, Question
from harness.testset import Draft, Note, readers
from harness.testset.evidence import Evidence, passages, unknown
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


class Origin(BaseModel):
    """What a question was drafted by, and the passages that it was drafted from."""

    model_config = ConfigDict(extra="forbid")

    by: str
    passages: list[Evidence] = Field(default_factory=list)


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

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a file of that name."""
        return path.is_file() and path.suffix.lower() == ".jsonl"

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the file's order."""
        yield from questions(rows(Path(self.path)), corpus)


@dataclass(frozen=True)
class PlacedRow(Row):
    """A row of a file whose places are not lines; `place` is how problems name it."""

    place: str

    @property
    def where(self) -> str:
        """The place, as errors name it."""
        return self.place


def questions(
    found: Iterable[Row | Problem | Note], corpus: Corpus, unnamed: str = "line"
) -> Iterator[Question | Problem | Note]:
    """Yield the question of each row that has the form of `QuestionRow`.

    A row without an id is named by its number, after `unnamed`. Problems and notes among the rows
    are yielded as they are.
    """
    seen: dict[str, str] = {}
    for row in found:
        if isinstance(row, Problem | Note):
            yield row
            continue
        try:
            data = QuestionRow.model_validate(row.data)
        except ValidationError as error:
            yield from problems_of(row, error)
            continue
        id_ = data.id if data.id is not None else f"{unnamed}-{row.line}"
        if id_ in seen:
            what = f"the id {id_!r} is taken by {seen[id_]}"
            yield Problem(row.where, what, "make each id unique")
            continue
        seen[id_] = row.where
        yield from _question(row.where, id_, data, corpus)


def _question(
    where: str, id_: str, data: QuestionRow, corpus: Corpus
) -> Iterator[Question | Problem | Note]:
    found: list[Passage] = []
    sound = True
    for number, evidence in enumerate(data.evidence, start=1):
        for each in passages(where, number, evidence, corpus):
            if isinstance(each, Passage):
                found.append(each)
            else:
                sound = sound and isinstance(each, Note)
                yield each
    for doc in data.documents or {}:
        if doc not in corpus.documents:
            sound = False
            yield unknown(where, f"the label for document {doc!r}", doc, corpus)
    if not data.answerable and (found or any(data.references())):
        sound = False
        what = "has answerable: false, and yet an answer or evidence"
        yield Problem(where, what, "take one of the two out")
    if sound:
        yield question_of(id_, data, found)
        if data.draft:
            yield Draft(id_)


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
