"""Corpus reader for SQuAD: the paragraphs of its articles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from annotated_types import Ge, MinLen
from pydantic import BaseModel, BeforeValidator, ValidationError

from harness.corpus import OnError, readers
from harness.errors import DataError, Problem, first_problems
from harness.files import reading
from harness.files.data_rows import describe_faults, id_as_text
from harness.files.reading import FileShape
from harness.records import Document
from harness.text.words import normalise

_MAX_PROBLEMS_SHOWN = 20
_MAX_SHIFT_CHARS = 8
"""Characters from its offset at which an answer is still looked for."""
NEAR_NOTE = "an answer was found near its offset, and not at it"
"""What a reader of a test set reports of an answer that had to be looked for."""


class SquadAnswer(BaseModel):
    """An answer and the character of the paragraph at which it starts."""

    text: str
    answer_start: Annotated[int, Ge(0)]


def find_near(text: str, quote: str, start: int) -> int | None:
    """Return where a quote stands in a text: at `start`, or else at the nearest place near it.

    Packagers strip documents of the white space around them, and leave the offsets as they were.
    """
    starts = range(max(0, start - _MAX_SHIFT_CHARS), start + _MAX_SHIFT_CHARS + 1)
    found = [position for position in starts if text.startswith(quote, position)]
    return min(found, key=lambda position: abs(position - start), default=None)


class SquadQuestion(BaseModel):
    """A question; `is_impossible` is of SQuAD 2.0."""

    id: Annotated[str, MinLen(1), BeforeValidator(id_as_text)]
    question: Annotated[str, MinLen(1)]
    answers: list[SquadAnswer] = []
    is_impossible: bool = False
    plausible_answers: list[SquadAnswer] = []


class _Paragraph(BaseModel):
    context: str
    qas: list[SquadQuestion] = []


class _Article(BaseModel):
    title: str = ""
    paragraphs: list[_Paragraph]


class _File(BaseModel):
    data: list[_Article]


@dataclass(frozen=True)
class SquadParagraph:
    """A paragraph with the id of its document, its text as it stands in the file, its questions."""

    id: str
    title: str
    text: str
    questions: list[SquadQuestion]


def read_paragraphs(path: Path) -> Iterator[SquadParagraph]:
    """Yield the paragraphs of a SQuAD file; the ids are `Title#1`, `Title#2`, ...

    White space in a title becomes `_` in the id, as SQuAD itself writes it: ids in TREC's files
    hold none.

    Raises:
        DataError: there is no such file, or it is not of this form.
    """
    try:
        file = _File.model_validate(reading.read_json(path))
    except ValidationError as error:
        hint = "SQuAD's form is wanted, 1.1 or 2.0"
        problems = list(describe_faults("the file", error, hint))
        raise DataError(str(path), first_problems(problems, _MAX_PROBLEMS_SHOWN)) from None
    numbers: Counter[str] = Counter()
    for article in file.data:
        prefix = "_".join(article.title.split())
        for paragraph in article.paragraphs:
            numbers[prefix] += 1
            yield SquadParagraph(
                f"{prefix}#{numbers[prefix]}", article.title, paragraph.context, paragraph.qas
            )


@readers.register
@dataclass(frozen=True)
class SquadDocuments:
    """A SQuAD file, 1.1 or 2.0: each paragraph is a document.

    Its id is the article's title and the paragraph's number in it, `Title#1`.
    """

    path: str
    on_error: OnError = "fail"

    name: ClassVar[str] = "squad"
    version: ClassVar[int] = 1
    shape: ClassVar[FileShape] = FileShape(suffixes=(".json",), key="paragraphs")

    def read(self) -> Iterator[Document | Problem]:
        """Yield the paragraphs in the file's order."""
        for paragraph in read_paragraphs(Path(self.path)):
            yield Document(paragraph.id, normalise(paragraph.text), normalise(paragraph.title))
