"""Test-set readers: each turns files into questions. Add one by adding a file here."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from harness import corpus, limits, testset
from harness.corpus import Corpus, CorpusReader
from harness.errors import DataError, Problem, SpecError, first_problems, suggest
from harness.files import paths, yaml_lines
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


class _Reader(Protocol):
    shape: ClassVar[FileShape]

    @property
    def path(self) -> str: ...


R = TypeVar("R", bound=_Reader)
Find = Callable[[str], str]
"""Turns a path as configured into one that exists, or raises `SpecError`."""


def corpus_reader(spec: str | Mapping[str, Any], find: Find) -> CorpusReader:
    """Return the reader for `PATH`, `{format: PATH}`, `{format: {...}}` or `{path: ..., ...}`."""
    return _build_reader(corpus.readers, spec, find)


def testset_reader(spec: str | Mapping[str, Any], find: Find) -> TestsetReader:
    """Return the reader for a test set; the same forms as for a corpus."""
    return _build_reader(testset.readers, spec, find)


def named_corpus_reader(text: str) -> CorpusReader:
    """Return the reader of a corpus that a command names: `PATH`, or `{format: ...}` in YAML.

    Raises:
        SpecError: it is not YAML, not there, or of no known format.
    """
    spec = text
    if text.lstrip().startswith("{"):
        try:
            spec = yaml_lines.parse_value(text)
        except ValueError as error:
            raise SpecError(f"the corpus: {error}", "write it like {beir: FOLDER}") from None
    return corpus_reader(spec, find_path)


def find_path(path: str) -> str:
    """Return where a path leads, from the working directory; `SpecError` if it is not there."""
    return paths.find(path, Path(), True, os.environ)


def _build_reader(registry: Registry[R], spec: str | Mapping[str, Any], find: Find) -> R:
    if isinstance(spec, str):
        spec = {"path": spec}
    if "path" in spec:
        path = _find_path(spec["path"], find)
        name = _choose_format(registry, path, set(spec))
        others = {key: value for key, value in spec.items() if key != "path"}
        parameters = {**spec, **_find_paths(registry[name], others, find), "path": path}
        return registry.build({name: parameters})
    if len(spec) != 1:
        raise SpecError(f"expected a path or one format, found {', '.join(map(str, spec))}")
    ((name, value),) = spec.items()
    params = dict(value) if isinstance(value, Mapping) else {"path": value}
    cls = registry[str(name)]  # an unknown format is said first
    if "path" not in params:
        raise SpecError(f"{registry.family} {name!r} has no path", f"write {{{name}: PATH}}")
    return registry.build({str(name): {**params, **_find_paths(cls, params, find)}})


def _find_paths(cls: type[R], params: Mapping[str, Any], find: Find) -> dict[str, str]:
    """Return where the paths among the parameters lead; a reader with several names them."""
    names = getattr(cls, "paths", ("path",))
    return {name: _find_path(params[name], find) for name in names if name in params}


def _find_path(path: Any, find: Find) -> str:
    if not isinstance(path, str) or not path:
        raise SpecError(f"the path must be a text, not {path!r}")
    return find(path)


def _choose_format(registry: Registry[R], path: str, parameters: set[str]) -> str:
    """Return the most particular format that fits what lies at `path`."""
    names = [name for name in registry if registry[name].shape.fits(Path(path))]
    if not names:
        raise SpecError(
            f"{path!r} is of no known format", f"name it, {{format: PATH}}; {suggest('', registry)}"
        )
    takes = {name: {item.name for item in fields(registry[name])} for name in names}  # type: ignore[arg-type]
    suitable = [name for name in names if parameters <= takes[name]] or names
    return min(suitable, key=lambda name: (name == "folder", name))
