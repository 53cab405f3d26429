"""Stored runs, in the files of other tools: TREC runs, CSV, Parquet, triplets to train with."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from harness import formulas, parquet, spending, triplets
from harness.errors import HarnessError
from harness.newfiles import check_new, put
from harness.store import StoredRun
from harness.stored import HitLine, RecordLine, UsageLine

FORMATS = ("trec", "csv", "parquet", "triplets")
QRELS = "qrels.txt"

_COLUMNS: Mapping[str, str] = {
    "run": "string",
    "cell": "string",
    "chunker": "string",
    "embedder": "string",
    "retriever": "string",
    "reranker": "string",
    "generator": "string",
    "question": "string",
    "category": "string",
    "difficulty": "string",
    "answerable": "bool",
    "metric": "string",
    "value": "float64",
    "state": "string",
    "reason": "string",
    "tokens_in": "int64",
    "tokens_out": "int64",
    "money": "float64",
}
"""What a row of scores holds, and Arrow's name for its type."""


def scores(stored: StoredRun) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each cell, question and metric, in the order of `_COLUMNS`."""
    cells = {cell.name: cell for cell in stored.run.cells}
    for record in stored.records:
        cell, question = cells[record.cell], stored.questions[record.question]
        parts = (cell.chunker, cell.embedder, cell.retriever, cell.reranker, cell.generator)
        segments = (question.category, question.difficulty, question.answerable)
        took = record.usage or UsageLine()
        money = spending.of_question(record, cell.spent, stored.run.prices)
        paid = (took.tokens_in, took.tokens_out, money if record.error is None else None)
        for name, score in record.scores.items():
            said = score.reason or ("adds to a value of the whole set" if score.counts else "")
            yield (
                *(stored.run.id, cell.name, *parts, record.question, *segments),
                *(name, score.value, score.state, said),
                *paid,
            )


def as_csv(stored: StoredRun) -> Iterator[str]:
    """Yield the scores of a run as lines of CSV; a value that is not there is an empty cell.

    A text that a spreadsheet would run as a formula has an apostrophe before it.
    """
    for row in chain([tuple(_COLUMNS)], scores(stored)):
        line = io.StringIO()
        safe = [_safe(each) if isinstance(each, str) else each for each in row]
        csv.writer(line, lineterminator="\n").writerow(safe)
        yield line.getvalue()


def _safe(text: str) -> str:
    return f"'{text}" if formulas.runs(text) else text


def write_parquet(stored: StoredRun, path: Path) -> None:
    """Write the scores of a run as Parquet, to the letter; null where there is no value.

    Raises:
        HarnessError: the file cannot be written.
        MissingExtra: pyarrow is not installed.
    """
    columns: list[Sequence[Any]] = list(zip(*scores(stored), strict=True))
    columns = columns or [() for _ in _COLUMNS]
    named = zip(_COLUMNS.items(), columns, strict=True)
    parquet.write(path, {name: (kind, values) for (name, kind), values in named})


def as_trec(stored: StoredRun, chunks: bool = False) -> dict[str, str]:
    """Return a TREC run for each cell, and the judgements, by the names of their files.

    Chunks collapse to the first of each document; with `chunks`, each is a document of its own,
    `doc:start-end`, and there are no judgements. Scores fall strictly, in single precision too,
    so that every tool ranks as the run did. A question that failed has no line.

    Raises:
        HarnessError: an id holds white space, which separates the columns of these files.
    """
    files: dict[str, str] = {}
    for number, cell in enumerate(stored.run.cells, start=1):
        name = f"{number}-{_slug(cell.name)}"
        records = stored.of([cell.name])
        lines = (line for each in records for line in _ranking(each, name, chunks))
        files[f"{name}.trec"] = "".join(f"{line}\n" for line in lines)
    judged = {id_: line.documents for id_, line in stored.questions.items() if line.documents}
    if judged and not chunks:
        files[QRELS] = "".join(
            f"{_whole(id_)} 0 {_whole(doc)} {grade}\n"
            for id_, grades in judged.items()
            for doc, grade in grades.items()
        )
    return files


def _ranking(record: RecordLine, tag: str, chunks: bool) -> Iterator[str]:
    best: dict[str, HitLine] = {}
    for hit in record.hits if record.error is None else ():
        best.setdefault(f"{hit.doc}:{hit.start}-{hit.end}" if chunks else hit.doc, hit)
    falling = _falling([hit.score for hit in best.values()])
    for rank, (id_, score) in enumerate(zip(best, falling, strict=True), start=1):
        yield f"{_whole(record.question)} Q0 {_whole(id_)} {rank} {score} {tag}"


def _falling(found: Sequence[float]) -> list[str]:
    """Return scores that fall strictly as single-precision numbers, as near as can be."""
    low = np.float32(np.inf)
    falling: list[np.float32] = []
    with np.errstate(over="ignore", under="ignore"):
        for score in found:
            low = min(np.float32(score), np.nextafter(low, np.float32(-np.inf)))
            falling.append(low)
    if not np.isfinite(falling).all():
        return [str(len(found) - at) for at in range(len(found))]
    return [str(score) for score in falling]


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._=+-]+", "-", name).strip("-")[:100]


def _whole(id_: str) -> str:
    if len(id_.split()) != 1 or id_.startswith("#"):
        raise HarnessError(
            f"the id {id_!r} has no place in a TREC file, where white space separates columns\n"
            "  and # begins a comment: give it another, or export csv or parquet"
        )
    return id_


def export(
    stored: StoredRun, form: str, path: Path, chunks: bool = False, force: bool = False
) -> list[Path]:
    """Write a run in one of `FORMATS`; `trec` makes a folder of files. Return the files.

    Raises:
        HarnessError: the format is unknown, a file is there already, or cannot be written.
    """
    if form not in FORMATS:
        raise HarnessError(f"unknown format {form!r}\n  choose from: {', '.join(FORMATS)}")
    if form == "trec":
        files = {path / name: text for name, text in as_trec(stored, chunks).items()}
        check_new(files, force)
        for each, text in files.items():
            put(each, text)
        return list(files)
    if chunks:
        raise HarnessError("--chunks belongs to trec")
    check_new([path], force)
    if form == "csv":
        put(path, as_csv(stored))
    elif form == "triplets":
        put(path, triplets.as_jsonl(stored))
    else:
        write_parquet(stored, path)
    return [path]
