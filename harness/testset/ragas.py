"""ragas: its evaluation data sets and generated test sets."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from harness import jsonl, wholefile
from harness.corpus import Corpus
from harness.errors import DataError, Problem
from harness.jsonl import Row
from harness.records import Question, Span
from harness.testset import Note, readers, tables
from harness.testset.anywhere import find
from harness.testset.evidence import short
from harness.testset.jsonl import PlacedRow, questions

_NAMES = {
    "user_input": "question",
    "question": "question",
    "reference": "answers",
    "ground_truth": "answers",
    "ground_truths": "answers",
    "reference_contexts": "contexts",
    "synthesizer_name": "category",
    "evolution_type": "category",
    "id": "id",
}
_HOP = re.compile(r"<\d+-hop>\s*")
_LISTS = ("reference_contexts", "contexts", "ground_truths", "retrieved_contexts")


@readers.register
@dataclass(frozen=True)
class Ragas:
    """A ragas data set in .jsonl, .json or .csv, by its present or its older column names.

    `reference_contexts` are looked for in the whole corpus, and become evidence: each is needed,
    and its places are alternatives. One that is nowhere is an error, or with `contexts: ignore`
    none of them is looked for.
    """

    path: str
    contexts: Literal["evidence", "ignore"] = "evidence"

    name: ClassVar[str] = "ragas"
    version: ClassVar[int] = 1

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a .json file with ragas's column names."""
        return wholefile.mentions(path, "user_input")

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the file's order."""
        read = [each if isinstance(each, Problem) else _read(each) for each in _rows(self.path)]
        placed = [each for each in read if isinstance(each, PlacedRow)]
        contexts = {
            text for row in placed for text in _texts(row.data.get("contexts")) if text.strip()
        }
        places = find(contexts, corpus) if self.contexts == "evidence" else {}
        if places and not any(places.values()):
            what = f"none of the {len(places)} reference contexts is in the corpus"
            hint = "name the corpus they were taken from, or leave them out: contexts: ignore"
            yield Problem("reference_contexts", what, hint)
            return
        yield from questions((_placed(each, places) for each in read), corpus, "row")

    def unplaced(self) -> Mapping[str, int]:
        """Return how many values of the file a question has no place for, by their column."""
        found: Counter[str] = Counter()
        for row in _rows(self.path):
            if isinstance(row, Row):
                for key in row.data.keys() - _names(row.data).keys():
                    value = row.data[key]
                    found[key] += len(value) if isinstance(value, list) else value is not None
        return found


def _names(data: Mapping[str, Any]) -> Mapping[str, str]:
    # Test sets of ragas 0.1 call the contexts that a question was made from `contexts`, and data
    # sets of that time those that were retrieved for it. Only the former name an evolution.
    return {**_NAMES, "contexts": "contexts"} if "evolution_type" in data else _NAMES


def _read(row: Row) -> PlacedRow | Problem:
    """Return the row with our keys; `contexts` is left for `_placed`."""
    names = _names(row.data)
    said: dict[str, Any] = {}
    for key, value in row.data.items():
        if key in names and value is not None:
            said.setdefault(names[key], value)
    if isinstance(said.get("question"), list):
        hint = "only questions of one turn have a place here"
        return Problem(row.where, "user_input is a conversation", hint)
    for key in ("answers", "contexts"):
        if isinstance(said.get(key), str):
            said[key] = [said[key]]
    texts = said.get("contexts", [])
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        return Problem(row.where, "the reference contexts must be a list of texts")
    said["contexts"] = [_HOP.sub("", each, count=1) if _HOP.match(each) else each for each in texts]
    return PlacedRow(row.line, said, row.where)


def _texts(value: Any) -> list[str]:
    return value if isinstance(value, list) else []


def _placed(row: PlacedRow | Problem, places: Mapping[str, list[Span]]) -> PlacedRow | Problem:
    if isinstance(row, Problem):
        return row
    texts = [text for text in row.data["contexts"] if text in places]
    for text in texts:
        if not places[text]:
            hint = "quote the document to the letter, or leave all contexts out: contexts: ignore"
            return Problem(row.where, f"the context {short(text)} is in no document", hint)
    data = {key: value for key, value in row.data.items() if key != "contexts"}
    data["evidence"] = [
        {"doc": span.doc, "start": span.start, "end": span.end, "group": f"#{number}"}
        for number, text in enumerate(texts, start=1)
        for span in places[text]
    ]
    return PlacedRow(row.line, data, row.where)


def _rows(path: str) -> Iterator[Row | Problem]:
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix == ".csv":
        for number, row in enumerate(tables.rows(file), start=1):
            if isinstance(row, Problem):
                yield row
            else:
                data = {key: _value(key, cell) for key, cell in row.data.items()}
                yield PlacedRow(number, data, row.where)
    elif suffix == ".json":
        for number, data in enumerate(_listed(path, wholefile.json(file)), start=1):
            where = f"row {number}"
            if isinstance(data, dict):
                yield PlacedRow(number, data, where)
            else:
                yield Problem(where, f"holds {type(data).__name__}, not an object")
    else:
        yield from jsonl.rows(file)


def _listed(path: str, data: Any) -> list[Any]:
    """Return the rows of a list of objects, or of an object of columns."""
    if isinstance(data, dict) and all(isinstance(each, list) for each in data.values()):
        columns = list(data.values())
        if len({len(column) for column in columns}) == 1:
            return [dict(zip(data, cells, strict=True)) for cells in zip(*columns, strict=True)]
    if not isinstance(data, list):
        what = "holds neither a list of objects nor columns of one length"
        raise DataError(path, [Problem("the file", what, "write it by ragas's to_jsonl")])
    return data


def _value(column: str, cell: str) -> Any:
    """Return the list that a cell of ragas's CSV holds as Python writes it, or the cell."""
    if not (column in _LISTS and cell.startswith("[")) and not cell.startswith("[{"):
        return cell
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an escape that Python does not know
            value = ast.literal_eval(cell)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return cell
    return value
