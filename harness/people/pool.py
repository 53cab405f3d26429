"""Pools: the unjudged documents in the top k of several runs, written for people to judge blind."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from harness.errors import HarnessError
from harness.files import csv_rows, json_lines
from harness.files.json_lines import JsonLine
from harness.files.new_files import check_new, write_file
from harness.fingerprint import fingerprint
from harness.records import StoredHit
from harness.store.reader import DOCUMENTS, StoredRun

_UNMATCHED_PREFIX = "unmatched:"
"""Begins the document of a text that a system gave and that no document of the corpus holds."""


@dataclass(frozen=True, kw_only=True)
class PoolItem:
    """A line of a pool: one document to be judged for one question."""

    item: str
    """What tells that an item comes back as it was written; see `mark`."""
    id: str
    """Of the question."""
    question: str
    doc: str
    title: str
    text: str
    grade: None = None
    grades: str
    """What the numbers mean."""


def mark(question: str, doc: str) -> str:
    """Return the mark of a question and a document; never a number."""
    return f"m{fingerprint(question, doc)}"


def collect(runs: Sequence[StoredRun], k: int, seed: int = 0) -> list[PoolItem]:
    """Return the documents in the top `k` of any cell of any run that nobody judged.

    Each stands once for a question, by the text of the chunk that was ranked best, and their order
    is drawn by `seed`: where an item stands says nothing. Questions without a judgement of
    documents are left out, and so are texts of a system that are in no document.

    Raises:
        HarnessError: a run judges no documents, or runs differ in their test set or corpus.
    """
    _check_runs(runs)
    best: dict[tuple[str, str], tuple[int, StoredHit, StoredRun]] = {}
    highest = 1
    titles: dict[str, str] = {}
    for run in runs:
        titles |= _read_titles(run)
        judged = {
            id_: question.documents
            for id_, question in run.questions.items()
            if question.documents is not None and question.answerable
        }
        highest = max([highest, *(max(grades.values(), default=1) for grades in judged.values())])
        for record in run.records:
            if record.question not in judged:
                continue
            first: dict[str, StoredHit] = {}
            for hit in record.hits:
                first.setdefault(hit.doc, hit)
            for rank, (doc, hit) in enumerate(list(first.items())[:k]):
                key = record.question, doc
                if doc in judged[record.question] or doc.startswith(_UNMATCHED_PREFIX):
                    continue
                if key not in best or rank < best[key][0]:
                    best[key] = (rank, hit, run)
    positive = "1 relevant" if highest == 1 else f"1 to {highest} relevant, {highest} the most"
    items = [
        PoolItem(
            item=mark(id_, doc),
            id=id_,
            question=run.questions[id_].text,
            doc=doc,
            title=titles.get(doc, ""),
            text=run.texts[hit.doc, hit.start, hit.end],
            grades=f"0 not relevant, {positive}; -1 cannot be judged; empty: not judged",
        )
        for (id_, doc), (_, hit, run) in sorted(best.items(), key=lambda entry: entry[0])
    ]
    random.Random(seed).shuffle(items)
    return items


def check_path(path: Path) -> None:
    """Raise `HarnessError` unless a pool can be a file of that name."""
    if path.suffix.lower() not in (".jsonl", ".csv"):
        raise HarnessError(f"{str(path)!r} is no .jsonl or .csv file\n  name one: -o pool.csv")


def write(items: Sequence[PoolItem], path: Path, force: bool = False) -> None:
    """Write a pool as JSON Lines or as CSV, by the name of the file.

    In CSV a text that a spreadsheet would run as a formula has an apostrophe before it, and so has
    one that begins with an apostrophe: reading takes it off again.

    Raises:
        HarnessError: the file is neither, is there already, or cannot be written.
    """
    check_path(path)
    check_new([path], force)
    rows = [asdict(item) for item in items]
    if path.suffix.lower() == ".jsonl":
        lines = [f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows]
    else:
        # Without the byte-order mark, Excel takes UTF-8 for another encoding.
        lines = ["\ufeff" + csv_rows.row(field.name for field in fields(PoolItem))]
        lines += [csv_rows.row(csv_rows.guard(cell or "") for cell in row.values()) for row in rows]
    write_file(path, "".join(lines))


def _check_runs(runs: Sequence[StoredRun]) -> None:
    for run in runs:
        provenance = run.run.provenance
        labels = {provenance.labels, *(line.labels for line in provenance.metrics.values())}
        if "documents" not in labels:
            raise HarnessError(
                f"{run.folder} has nothing to judge: by its labels ({provenance.labels}) a rule "
                "judges every chunk\n"
                "  pool wants a run with labels: documents, or a metric with labels=documents"
            )
    first, *others = runs
    for part in ("testset", "corpus"):
        expected = getattr(first.run.provenance, part).get("hash")
        differ = [
            str(run.folder)
            for run in others
            if getattr(run.run.provenance, part).get("hash") != expected
        ]
        if differ:
            name = "test set" if part == "testset" else part
            raise HarnessError(
                f"the runs have not the same {name}: {', '.join(differ)} "
                f"differ{'s' * (len(differ) == 1)} from {first.folder}\n"
                f"  pool the runs of each {name} by themselves"
            )


def _read_titles(run: StoredRun) -> Mapping[str, str]:
    """Return the titles that a run has stored: those of documents that no file holds as text."""
    path = run.folder / DOCUMENTS
    lines = json_lines.read(path) if path.is_file() else []
    return {
        str(line.data.get("id")): str(line.data.get("title") or "")
        for line in lines
        if isinstance(line, JsonLine)
    }
