"""Test sets of other tools, turned into our own format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from harness import corpus, named_corpus, numbers, testset
from harness.corpus import Corpus, normalised
from harness.errors import HarnessError, SpecError
from harness.newfiles import check_new, put
from harness.printable import printable
from harness.records import Passage, Question
from harness.registry import parse
from harness.sources import corpus_reader, testset_reader
from harness.testset import Testset, TestsetReader

_WITH_CORPUS = ("autorag", "beir", "squad")
"""Formats whose test set and corpus lie at one path."""


@runtime_checkable
class _Unplaced(Protocol):
    """A reader that can say what of its file has no place in a question."""

    def unplaced(self) -> Mapping[str, int]:
        """Return how many values there are, by the name of their field."""
        ...


@dataclass(frozen=True)
class Imported:
    """A test set that was read in another format, and the corpus it speaks of."""

    testset: Testset
    corpus: Corpus
    unplaced: Mapping[str, int]


def read(form: str, path: str, documents: str | None) -> Imported:
    """Read the test set at `path` in the format `form`: `name`, or `name(option=value)`.

    `documents` is the corpus as a configuration names it, in YAML. Without it, `path` must hold
    one in the same format.

    Raises:
        SpecError: the format or an option is unknown, or nothing says which corpus is meant.
        DataError: the test set or the corpus cannot be read, or they do not fit each other.
    """
    name, options = parse(form)
    reader = testset_reader({name: {**options, "path": path}}, named_corpus.find)
    if documents is None and name not in _WITH_CORPUS:
        what = f"{name} holds no corpus, and its labels need one"
        raise SpecError(what, "name it: --corpus PATH")
    spec = {name: path} if documents is None else named_corpus.spec(documents)
    found = corpus.load(corpus_reader(spec, named_corpus.find))
    return Imported(testset.load(reader, found), found, _unplaced(reader))


def _unplaced(reader: TestsetReader) -> Mapping[str, int]:
    return reader.unplaced() if isinstance(reader, _Unplaced) else {}


def account(found: Imported) -> str:
    """Return what was kept of a test set, and what has no place."""
    questions = found.testset.questions
    kinds: Mapping[str, Callable[[Question], object]] = {
        "answers": lambda question: question.answers,
        "evidence": lambda question: question.passages,
        "documents": lambda question: question.documents is not None,
        "keywords": lambda question: question.keywords,
        "a category": lambda question: question.category,
    }
    counts = {kind: sum(bool(has(each)) for each in questions) for kind, has in kinds.items()}
    declined = sum(not question.answerable for question in questions)
    drafts = found.testset.unaccepted
    kept = ", ".join(f"{count:,} with {kind}" for kind, count in counts.items() if count)
    lines = [f"{numbers.count(len(questions), 'question')}, {declined:,} unanswerable"]
    lines += [f"  {kept}"] if kept else []
    lines += [f"  {numbers.count(drafts, 'draft')} that no person has accepted"] if drafts else []
    lines += [f"  note: {note}" for note in found.testset.notes]
    lines += [
        f"  no place for {key}: {numbers.count(count, 'value')}"
        for key, count in sorted(found.unplaced.items())
        if count
    ]
    return "\n".join(map(printable, lines))


def write(found: Imported, path: Path, documents: Path | None, force: bool = False) -> list[Path]:
    """Write the test set as JSON Lines and, if it is given a place, the corpus; return the files.

    Drafts keep their mark.
    `documents` is a .jsonl file, or a folder that becomes one with `corpus.jsonl`.

    Raises:
        HarnessError: a file is there already, or cannot be written, or `path` is no .jsonl file.
    """
    if path.suffix.lower() != ".jsonl":
        raise HarnessError(f"{str(path)!r} is no .jsonl file\n  name one: -o testset.jsonl")
    texts = {path: _lines(_rows(found.testset))}
    if documents is not None:
        into = documents if documents.suffix.lower() == ".jsonl" else documents / "corpus.jsonl"
        texts[into] = _lines(_documents(found.corpus))
    if len(texts) == 1 and documents is not None:
        raise HarnessError(f"{str(path)!r} cannot hold both the questions and the documents")
    check_new(texts, force)
    for each, text in texts.items():
        put(each, text)
    return list(texts)


def _rows(found: Testset) -> Iterator[dict[str, Any]]:
    for each in found.questions:
        yield {**row(each), "draft": True} if each.id in found.drafts else row(each)


def row(question: Question) -> dict[str, Any]:
    """Return a question as a line of our format; reading it gives the question back."""
    said: dict[str, Any] = {"id": question.id, "question": question.text}
    optional = {
        "answers": list(question.answers),
        "keywords": list(question.keywords),
        "evidence": [_evidence(passage) for passage in question.passages],
        "category": question.category,
        "difficulty": question.difficulty,
    }
    said |= {key: value for key, value in optional.items() if value}
    if question.documents is not None:
        said["documents"] = dict(question.documents)
    return said if question.answerable else {**said, "answerable": False}


def _evidence(passage: Passage) -> dict[str, Any]:
    span = passage.span
    said: dict[str, Any] = {"doc": span.doc, "start": span.start, "end": span.end}
    if normalised(passage.text) == passage.text:
        said["quote"] = passage.text
    said["group"] = passage.group
    return said if passage.grade == 1 else {**said, "grade": passage.grade}


def _documents(documents: Corpus) -> Iterator[dict[str, Any]]:
    for each in documents.documents.values():
        said: dict[str, Any] = {"id": each.id, "title": each.title, "text": each.text}
        yield {**said, "metadata": dict(each.metadata)} if each.metadata else said


def _lines(rows: Iterator[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in rows)
