"""Exports stored runs to formats of other tools: TREC, CSV, Parquet, training triplets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import HarnessError
from harness.files import csv_rows, parquet
from harness.files.new_files import check_new, write_file
from harness.records import Missed, Outcome, StoredHit, Usage
from harness.store import expenses
from harness.store.reader import StoredRun

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
        usage = record.usage or Usage()
        money = expenses.question_money(record, cell.spent, stored.run.prices)
        paid = (usage.tokens_in, usage.tokens_out, money if record.error is None else None)
        for name, score in record.scores.items():
            reason = score.reason or ("adds to a value of the whole set" if score.counts else "")
            yield (
                *(stored.run.id, cell.name, *parts, record.question, *segments),
                *(name, score.value, score.state, reason),
                *paid,
            )


def as_csv(stored: StoredRun) -> Iterator[str]:
    """Yield the scores of a run as lines of CSV; a value that is not there is an empty cell.

    A text that a spreadsheet would run as a formula has an apostrophe before it.
    """
    for row in chain([tuple(_COLUMNS)], scores(stored)):
        yield csv_rows.row(
            _escape_formula(value) if isinstance(value, str) else value for value in row
        )


def _escape_formula(text: str) -> str:
    return f"'{text}" if csv_rows.is_formula(text) else text


def write_parquet(stored: StoredRun, path: Path) -> None:
    """Write the scores of a run as Parquet, to the letter; null where there is no value.

    Raises:
        HarnessError: the file cannot be written.
        MissingExtra: pyarrow is not installed.
    """
    columns: list[Sequence[Any]] = list(zip(*scores(stored), strict=True))
    columns = columns or [() for _ in _COLUMNS]
    columns_by_name = zip(_COLUMNS.items(), columns, strict=True)
    parquet.write(path, {name: (kind, values) for (name, kind), values in columns_by_name})


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
        records = stored.records_of([cell.name])
        lines = (line for record in records for line in _ranking(record, name, chunks))
        files[f"{name}.trec"] = "".join(f"{line}\n" for line in lines)
    judged = {id_: line.documents for id_, line in stored.questions.items() if line.documents}
    if judged and not chunks:
        files[QRELS] = "".join(
            f"{_checked_id(id_)} 0 {_checked_id(doc)} {grade}\n"
            for id_, grades in judged.items()
            for doc, grade in grades.items()
        )
    return files


def _ranking(record: Outcome, tag: str, chunks: bool) -> Iterator[str]:
    best: dict[str, StoredHit] = {}
    for hit in record.hits if record.error is None else ():
        best.setdefault(f"{hit.doc}:{hit.start}-{hit.end}" if chunks else hit.doc, hit)
    falling = _strictly_falling([hit.score for hit in best.values()])
    for rank, (id_, score) in enumerate(zip(best, falling, strict=True), start=1):
        yield f"{_checked_id(record.question)} Q0 {_checked_id(id_)} {rank} {score} {tag}"


def _strictly_falling(scores: Sequence[float]) -> list[str]:
    """Return scores that fall strictly as single-precision numbers, as near as can be."""
    low = np.float32(np.inf)
    falling: list[np.float32] = []
    with np.errstate(over="ignore", under="ignore"):
        for score in scores:
            low = min(np.float32(score), np.nextafter(low, np.float32(-np.inf)))
            falling.append(low)
    if not np.isfinite(falling).all():
        return [str(len(scores) - index) for index in range(len(scores))]
    return [str(score) for score in falling]


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._=+-]+", "-", name).strip("-")[:100]


def _checked_id(id_: str) -> str:
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
        for file, text in files.items():
            write_file(file, text)
        return list(files)
    if chunks:
        raise HarnessError("--chunks belongs to trec")
    check_new([path], force)
    if form == "csv":
        write_file(path, as_csv(stored))
    elif form == "triplets":
        write_file(path, as_jsonl(stored))
    else:
        write_parquet(stored, path)
    return [path]


def as_jsonl(stored: StoredRun) -> str:
    """Return each distinct triplet of a run as a line: `anchor`, `positive` and `negative`.

    A wrong hit is one judged not relevant, by rule or by somebody, that stands above a relevant
    chunk; where a relevant chunk was not retrieved, every wrong hit does. A hit that nobody judged
    may be right, and is in none.
    """
    triplets = (triplet for record in stored.records for triplet in _triplets(stored, record))
    # Two documents may hold the same text, one of them judged relevant.
    distinct = dict.fromkeys(triplet for triplet in triplets if triplet[1] != triplet[2])
    return "".join(
        json.dumps(
            {"anchor": anchor, "positive": positive, "negative": negative}, ensure_ascii=False
        )
        + "\n"
        for anchor, positive, negative in distinct
    )


def _triplets(stored: StoredRun, record: Outcome) -> Iterator[tuple[str, str, str]]:
    question = stored.questions[record.question].text
    wrong: list[str] = []
    for hit in record.hits:
        if hit.grade is None:
            continue
        if hit.grade <= 0:
            wrong.append(_text(stored, hit))
        else:
            yield from ((question, _text(stored, hit), negative) for negative in wrong)
    for missed in record.missed:
        yield from ((question, _text(stored, missed), negative) for negative in wrong)


def _text(stored: StoredRun, line: StoredHit | Missed) -> str:
    return stored.texts[(line.doc, line.start, line.end)]
