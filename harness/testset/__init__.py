"""Test-set readers: each turns files into questions. Add one by adding a file here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

from harness import limits
from harness.corpus import Corpus
from harness.errors import DataError, Problem, first_problems
from harness.files.reading import FileShape
from harness.fingerprint import fingerprint
from harness.ranking.relevance import KINDS, has_label
from harness.records import Label, Question
from harness.registry import Registry


@dataclass(frozen=True)
class Note:
    """Something about a test set that a reader of its scores should know."""

    text: str


@dataclass(frozen=True)
class Draft(Note):
    """That no person has accepted a question yet; the text is its id."""


class UnknownDocument(Problem):
    """That a label names a document which the corpus does not hold."""


class TestsetReader(Protocol):
    """What every file in this package provides."""

    name: ClassVar[str]
    version: ClassVar[int]
    shape: ClassVar[FileShape]

    @property
    def path(self) -> str:
        """Where it reads from."""
        ...

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield each question with its labels resolved in `corpus`, or what is wrong with it."""
        ...


readers: Registry[TestsetReader] = Registry("test-set format", __name__, TestsetReader)


@dataclass(frozen=True)
class Testset:
    """The questions of one test set, in the file's order; `drafts` has the ids of some of them.

    `of` is how many the file has, where only its first are here.
    """

    __test__: ClassVar[bool] = False
    questions: tuple[Question, ...]
    id: str
    notes: tuple[str, ...] = ()
    drafts: frozenset[str] = frozenset()
    of: int | None = None

    @property
    def unaccepted(self) -> int:
        """How many of the questions no person has accepted."""
        return sum(question.id in self.drafts for question in self.questions)

    def labels(self) -> tuple[Label, ...]:
        """Return the kinds of label that an answerable question has, the most exact first."""
        answerable = [question for question in self.questions if question.answerable]
        return tuple(kind for kind in KINDS if any(has_label(q, kind) for q in answerable))


def load(reader: TestsetReader, corpus: Corpus) -> Testset:
    """Read a whole test set and resolve its labels in the corpus.

    What a corpus that `is_partial` does not hold is no problem.

    Raises:
        DataError: a line is broken, two questions have one id, or a label resolves to nothing.
    """
    questions: dict[str, Question] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    drafts: set[str] = set()
    for item in reader.read(corpus):
        if isinstance(item, Problem):
            known = not (corpus.is_partial and isinstance(item, UnknownDocument))
            problems += [item] if known else []
        elif isinstance(item, Draft):
            drafts.add(item.text)
        elif isinstance(item, Note):
            notes.append(item.text)
        elif item.id in questions:
            message = f"two questions have the id {item.id!r}"
            problems.append(Problem(reader.path, message, "make each id unique"))
        else:
            questions[item.id] = item
        if len(problems) >= limits.MAX_PROBLEMS:
            break
    if not questions and not problems and not corpus.is_partial:
        problems.append(Problem(reader.path, "holds no question", "look at the path"))
    if problems:
        raise DataError(reader.path, first_problems(problems))
    counted = [
        f"{note} ({times} times)" if times > 1 else note for note, times in Counter(notes).items()
    ]
    id_ = fingerprint(repr(list(questions.values())))
    return Testset(tuple(questions.values()), id_, tuple(counted), frozenset(drafts))
