"""SQuAD: the paragraphs of its articles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from annotated_types import Ge, MinLen
from pydantic import BaseModel, ValidationError

from harness import wholefile
from harness.corpus import OnError, normalised, readers
from harness.errors import DataError, Problem
from harness.records import Document

_SHOWN = 20


class Answer(BaseModel):
    """An answer and the character of the paragraph at which it starts."""

    text: str
    answer_start: Annotated[int, Ge(0)]


class Asked(BaseModel):
    """A question; `is_impossible` is of SQuAD 2.0."""

    id: Annotated[str, MinLen(1)]
    question: Annotated[str, MinLen(1)]
    answers: list[Answer] = []
    is_impossible: bool = False
    plausible_answers: list[Answer] = []


class _Paragraph(BaseModel):
    context: str
    qas: list[Asked] = []


class _Article(BaseModel):
    title: str = ""
    paragraphs: list[_Paragraph]


class _File(BaseModel):
    data: list[_Article]


@dataclass(frozen=True)
class Paragraph:
    """A paragraph with the id of its document, its text as it stands in the file, its questions."""

    id: str
    title: str
    text: str
    asked: list[Asked]


def paragraphs(path: Path) -> Iterator[Paragraph]:
    """Yield the paragraphs of a SQuAD file; the ids are `Title#1`, `Title#2`, ...

    White space in a title becomes `_` in the id, as SQuAD itself writes it: ids in TREC's files
    hold none.

    Raises:
        DataError: there is no such file, or it is not of this form.
    """
    try:
        file = _File.model_validate(wholefile.json(path))
    except ValidationError as error:
        raise DataError(str(path), _problems(error)) from None
    numbers: Counter[str] = Counter()
    for article in file.data:
        named = "_".join(article.title.split())
        for each in article.paragraphs:
            numbers[named] += 1
            yield Paragraph(f"{named}#{numbers[named]}", article.title, each.context, each.qas)


def _problems(error: ValidationError) -> list[Problem]:
    found = []
    for each in error.errors()[:_SHOWN]:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in each["loc"])
        where = "".join(steps).removeprefix(".") or "the file"
        found.append(Problem(where, each["msg"].lower(), "SQuAD's form is wanted, 1.1 or 2.0"))
    if error.error_count() > _SHOWN:
        found.append(Problem("the file", f"has {error.error_count() - _SHOWN} more such problems"))
    return found


@readers.register
@dataclass(frozen=True)
class Squad:
    """A SQuAD file, 1.1 or 2.0: each paragraph is a document.

    Its id is the article's title and the paragraph's number in it, `Title#1`.
    """

    path: str
    on_error: OnError = "fail"

    name: ClassVar[str] = "squad"
    version: ClassVar[int] = 1

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a .json file that speaks of paragraphs."""
        return wholefile.mentions(path, "paragraphs")

    def read(self) -> Iterator[Document | Problem]:
        """Yield the paragraphs in the file's order."""
        for each in paragraphs(Path(self.path)):
            yield Document(each.id, normalised(each.text), normalised(each.title))
