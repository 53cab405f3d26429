"""Collects the unjudged documents in the top k of several runs into one blind list."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError
from harness.fingerprint import fingerprint
from harness.records import StoredHit
from harness.store.reader import DOCUMENTS, StoredRun

_UNMATCHED_PREFIX = "unmatched:"
"""Begins the document of a text that a system gave and that no document of the corpus holds."""


@dataclass(frozen=True)
class PoolItem:
    """One document to be judged for one question, by the text that was found of it."""

    question: str
    asked: str
    doc: str
    title: str
    text: str

    @property
    def mark(self) -> str:
        """What tells that an item comes back as it was written; never a number."""
        return mark(self.question, self.doc)


@dataclass(frozen=True)
class JudgementPool:
    """Items in random order, over so many questions; the grades in use are 0 to `highest`."""

    items: tuple[PoolItem, ...]
    questions: int
    highest: int


def mark(question: str, doc: str) -> str:
    """Return the mark of a question and a document."""
    return f"m{fingerprint(question, doc)}"


def collect(runs: Sequence[StoredRun], k: int, seed: int = 0) -> JudgementPool:
    """Return the documents in the top `k` of any cell of any run that nobody judged.

    Each stands once for a question, by the text of the chunk that was ranked best, and their order
    is drawn by `seed`: where an item stands says nothing. Questions without a judgement of
    documents are left out, and so are texts of a system that are in no document.

    Raises:
        HarnessError: a run judges no documents, or runs differ in their test set or corpus.
    """
    for run in runs:
        _check_documents(run)
    _check_same_data(runs)
    best: dict[tuple[str, str], tuple[int, StoredHit, StoredRun]] = {}
    for run in runs:
        for question, doc, rank, hit in _find_unjudged(run, k):
            previous = best.get((question, doc))
            if previous is None or rank < previous[0]:
                best[question, doc] = (rank, hit, run)
    titles: dict[str, str] = {}
    for run in runs:
        titles |= _read_titles(run)
    items = [
        PoolItem(
            id_,
            run.questions[id_].text,
            doc,
            titles.get(doc, ""),
            run.texts[hit.doc, hit.start, hit.end],
        )
        for (id_, doc), (_, hit, run) in sorted(best.items(), key=lambda entry: entry[0])
    ]
    random.Random(seed).shuffle(items)
    grades = [
        grade
        for run in runs
        for line in run.questions.values()
        for grade in (line.documents or {}).values()
    ]
    return JudgementPool(tuple(items), len({item.question for item in items}), max([1, *grades]))


def _find_unjudged(run: StoredRun, k: int) -> Iterator[tuple[str, str, int, StoredHit]]:
    """Yield question, document, its rank and its first hit, of what nobody judged."""
    for record in run.records:
        line = run.questions[record.question]
        if line.documents is None or not line.answerable:
            continue
        first: dict[str, StoredHit] = {}
        for hit in record.hits:
            first.setdefault(hit.doc, hit)
        for rank, (doc, hit) in enumerate(list(first.items())[:k], start=1):
            if doc not in line.documents and not doc.startswith(_UNMATCHED_PREFIX):
                yield record.question, doc, rank, hit


def _check_documents(run: StoredRun) -> None:
    provenance = run.run.provenance
    if provenance.labels == "documents" or any(
        m.labels == "documents" for m in provenance.metrics.values()
    ):
        return
    raise HarnessError(
        f"{run.folder} has nothing to judge: by its labels ({provenance.labels}) a rule judges "
        "every chunk\n  pool wants a run with labels: documents, or a metric with labels=documents"
    )


def _check_same_data(runs: Sequence[StoredRun]) -> None:
    """Raise `HarnessError` naming the runs that are not about what the first is about."""
    first, *others = runs
    for part in ("testset", "corpus"):
        hashes = {run.folder: getattr(run.run.provenance, part).get("hash") for run in runs}
        differ = [run for run in others if hashes[run.folder] != hashes[first.folder]]
        if differ:
            name = "test set" if part == "testset" else part
            folders = ", ".join(str(run.folder) for run in differ)
            raise HarnessError(
                f"the runs have not the same {name}: {folders} differ{'s' * (len(differ) == 1)} "
                f"from {first.folder}\n  pool the runs of each {name} by themselves"
            )


def _read_titles(run: StoredRun) -> Mapping[str, str]:
    """Return the titles that a run has stored: those of documents that no file holds as text."""
    path: Path = run.folder / DOCUMENTS
    titles: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                data = json.loads(line)
                titles[str(data["id"])] = str(data["title"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return titles  # an item without a title can still be judged by its text
    return titles
