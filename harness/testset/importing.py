"""Import test sets of other tools into the harness's own format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import corpus, testset
from harness.corpus import Corpus
from harness.errors import HarnessError, SpecError
from harness.files.new_files import check_new, write_file
from harness.records import Passage, Question
from harness.registry import parse
from harness.testset import (
    Testset,
    corpus_reader,
    find_path,
    named_corpus_reader,
    testset_reader,
)
from harness.text import numbers
from harness.text.words import normalise

_WITH_CORPUS = ("autorag", "beir", "squad")
"""Formats whose test set and corpus lie at one path."""


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
    reader = testset_reader({name: {**options, "path": path}}, find_path)
    if documents is None and name not in _WITH_CORPUS:
        message = f"{name} holds no corpus, and its labels need one"
        raise SpecError(message, "name it: --corpus PATH")
    loaded = corpus.load(
        corpus_reader({name: path}, find_path)
        if documents is None
        else named_corpus_reader(documents)
    )
    unplaced = reader.count_unplaced() if hasattr(reader, "count_unplaced") else {}
    return Imported(testset.load(reader, loaded), loaded, unplaced)


def describe_import(imported: Imported) -> list[str]:
    """Return what was kept of a test set, and what has no place."""
    questions = imported.testset.questions
    kinds: Mapping[str, Callable[[Question], object]] = {
        "answers": lambda question: question.answers,
        "evidence": lambda question: question.passages,
        "documents": lambda question: question.documents is not None,
        "keywords": lambda question: question.keywords,
        "a category": lambda question: question.category,
    }
    counts = {kind: sum(bool(has(item)) for item in questions) for kind, has in kinds.items()}
    declined = sum(not question.answerable for question in questions)
    drafts = imported.testset.unaccepted
    counts_text = ", ".join(f"{count:,} with {kind}" for kind, count in counts.items() if count)
    lines = [f"{numbers.count(len(questions), 'question')}, {declined:,} unanswerable"]
    lines += [counts_text] if counts_text else []
    lines += [f"{numbers.count(drafts, 'draft')} that no person has accepted"] if drafts else []
    lines += [f"note: {note}" for note in imported.testset.notes]
    return lines + [
        f"no place for {key}: {numbers.count(count, 'value')}"
        for key, count in sorted(imported.unplaced.items())
        if count
    ]


def write(
    imported: Imported, path: Path, documents: Path | None, force: bool = False
) -> list[Path]:
    """Write the test set as JSON Lines and, if it is given a place, the corpus; return the files.

    Drafts keep their mark.
    `documents` is a .jsonl file, or a folder that becomes one with `corpus.jsonl`.

    Raises:
        HarnessError: a file is there already, or cannot be written, or `path` is no .jsonl file.
    """
    if path.suffix.lower() != ".jsonl":
        raise HarnessError(f"{str(path)!r} is no .jsonl file\n  name one: -o testset.jsonl")
    texts = {path: _as_json_lines(_format_rows(imported.testset))}
    if documents is not None:
        into = documents if documents.suffix.lower() == ".jsonl" else documents / "corpus.jsonl"
        texts[into] = _as_json_lines(_format_documents(imported.corpus))
    if len(texts) == 1 and documents is not None:
        raise HarnessError(f"{str(path)!r} cannot hold both the questions and the documents")
    check_new(texts, force)
    for target, text in texts.items():
        write_file(target, text)
    return list(texts)


def _format_rows(testset_read: Testset) -> Iterator[dict[str, Any]]:
    for question in testset_read.questions:
        yield (
            {**format_row(question), "draft": True}
            if question.id in testset_read.drafts
            else format_row(question)
        )


def format_row(question: Question) -> dict[str, Any]:
    """Return a question as a line of our format; reading it gives the question back."""
    record: dict[str, Any] = {"id": question.id, "question": question.text}
    optional = {
        "answers": list(question.answers),
        "keywords": list(question.keywords),
        "evidence": [_format_evidence(passage) for passage in question.passages],
        "category": question.category,
        "difficulty": question.difficulty,
    }
    record |= {key: value for key, value in optional.items() if value}
    if question.documents is not None:
        record["documents"] = dict(question.documents)
    return record if question.answerable else {**record, "answerable": False}


def _format_evidence(passage: Passage) -> dict[str, Any]:
    span = passage.span
    record: dict[str, Any] = {"doc": span.doc, "start": span.start, "end": span.end}
    if normalise(passage.text) == passage.text:
        record["quote"] = passage.text
    record["group"] = passage.group
    return record if passage.grade == 1 else {**record, "grade": passage.grade}


def _format_documents(documents: Corpus) -> Iterator[dict[str, Any]]:
    for document in documents.documents.values():
        record: dict[str, Any] = {"id": document.id, "title": document.title, "text": document.text}
        yield {**record, "metadata": dict(document.metadata)} if document.metadata else record


def _as_json_lines(rows: Iterator[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
