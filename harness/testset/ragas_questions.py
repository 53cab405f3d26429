"""Test-set reader for ragas: its evaluation data sets and generated test sets."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from harness.corpus import Corpus
from harness.errors import DataError, Problem
from harness.files import data_rows, json_lines, reading
from harness.files.json_lines import JsonLine
from harness.files.reading import FileShape
from harness.records import Question, Span
from harness.testset import Note, readers
from harness.testset.jsonl_questions import resolve_questions, shorten_quote
from harness.text.spans import Located, locate
from harness.text.words import normalise

_KEY_BY_COLUMN = {
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
_HOP_MARK = re.compile(r"\A<\d+-hop>\s*")
_LIST_COLUMNS = ("reference_contexts", "contexts", "ground_truths", "retrieved_contexts")


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
    shape: ClassVar[FileShape] = FileShape(suffixes=(".json",), key="user_input")

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the file's order."""
        items = [
            item if isinstance(item, Problem) else _parse_row(item)
            for item in _read_rows(self.path)
        ]
        parsed = [item for item in items if isinstance(item, JsonLine)]
        contexts = {text for row in parsed for text in row.data["contexts"] if text.strip()}
        places = _find_spans(contexts, corpus) if self.contexts == "evidence" else {}
        if places and not any(places.values()) and not corpus.is_partial:
            message = f"none of the {len(places)} reference contexts is in the corpus"
            hint = "name the corpus they were taken from, or leave them out: contexts: ignore"
            yield Problem("reference_contexts", message, hint)
            return
        yield from resolve_questions((_add_evidence(item, places) for item in items), corpus, "row")

    def count_unplaced(self) -> Mapping[str, int]:
        """Return how many values of the file a question has no place for, by their column."""
        counts: Counter[str] = Counter()
        for row in _read_rows(self.path):
            if isinstance(row, JsonLine):
                for key in row.data.keys() - _key_by_column(row.data).keys():
                    value = row.data[key]
                    counts[key] += len(value) if isinstance(value, list) else value is not None
        return counts


def _key_by_column(data: Mapping[str, Any]) -> Mapping[str, str]:
    # Test sets of ragas 0.1 call the contexts that a question was made from `contexts`, and data
    # sets of that time those that were retrieved for it. Only the former name an evolution.
    return (
        {**_KEY_BY_COLUMN, "contexts": "contexts"} if "evolution_type" in data else _KEY_BY_COLUMN
    )


def _parse_row(row: JsonLine) -> JsonLine | Problem:
    """Return the row with our keys; `contexts` is left for `_add_evidence`."""
    names = _key_by_column(row.data)
    fields: dict[str, Any] = {}
    for key, value in row.data.items():
        if key in names and value is not None:
            fields.setdefault(names[key], value)
    if isinstance(fields.get("question"), list):
        hint = "only questions of one turn have a place here"
        return Problem(row.where, "user_input is a conversation", hint)
    for key in ("answers", "contexts"):
        if isinstance(fields.get(key), str):
            fields[key] = [fields[key]]
    texts = fields.get("contexts", [])
    if not isinstance(texts, list) or not all(isinstance(item, str) for item in texts):
        return Problem(row.where, "the reference contexts must be a list of texts")
    fields["contexts"] = [_HOP_MARK.sub("", item) for item in texts]
    return JsonLine(row.line, fields, row.where)


def _add_evidence(row: JsonLine | Problem, places: Mapping[str, list[Span]]) -> JsonLine | Problem:
    if isinstance(row, Problem):
        return row
    texts = [text for text in row.data["contexts"] if text in places]
    for text in texts:
        if not places[text]:
            hint = "quote the document to the letter, or leave all contexts out: contexts: ignore"
            return Problem(row.where, f"the context {shorten_quote(text)} is in no document", hint)
    data = {key: value for key, value in row.data.items() if key != "contexts"}
    data["evidence"] = [
        {"doc": span.doc, "start": span.start, "end": span.end, "group": f"#{number}"}
        for number, text in enumerate(texts, start=1)
        for span in places[text]
    ]
    return JsonLine(row.line, data, row.where)


def _read_rows(path: str) -> Iterator[JsonLine | Problem]:
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix == ".csv":
        for number, row in enumerate(data_rows.read_table(file), start=1):
            if isinstance(row, Problem):
                yield row
            else:
                data = {key: _parse_cell(key, cell.strip()) for key, cell in row.data.items()}
                yield JsonLine(number, data, row.where)
    elif suffix == ".json":
        for number, data in enumerate(_list_rows(path, reading.read_json(file)), start=1):
            where = f"row {number}"
            if isinstance(data, dict):
                yield JsonLine(number, data, where)
            else:
                yield Problem(where, f"holds {type(data).__name__}, not an object")
    else:
        yield from json_lines.rows(file)


def _list_rows(path: str, data: Any) -> list[Any]:
    """Return the rows of a list of objects, or of an object of columns."""
    if isinstance(data, dict) and all(isinstance(item, list) for item in data.values()):
        columns = list(data.values())
        if len({len(column) for column in columns}) == 1:
            return [dict(zip(data, cells, strict=True)) for cells in zip(*columns, strict=True)]
    if not isinstance(data, list):
        message = "holds neither a list of objects nor columns of one length"
        raise DataError(path, [Problem("the file", message, "write it by ragas's to_jsonl")])
    return data


def _parse_cell(column: str, cell: str) -> Any:
    """Return the list that a cell of ragas's CSV holds as Python writes it, or the cell."""
    if not (column in _LIST_COLUMNS and cell.startswith("[")) and not cell.startswith("[{"):
        return cell
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an escape that Python does not know
            value = ast.literal_eval(cell)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return cell
    return value


def _find_spans(texts: Iterable[str], corpus: Corpus) -> Mapping[str, list[Span]]:
    """Return every place of each text, in any document; an empty list where it has none.

    A text is found to the letter, or where it is so nowhere, with letter case and white space
    ignored.
    """
    words_by_text = {text: _fold(text) for text in texts}
    places_of: dict[str, list[tuple[str, Located]]] = {text: [] for text in words_by_text}
    for document in corpus.documents.values():
        folded = _fold(document.text)
        for text, words in words_by_text.items():
            if words and words in folded:
                located = locate(normalise(text).strip(), document.text)
                if located is not None:
                    places_of[text].append((document.id, located))
    spans: dict[str, list[Span]] = {}
    for text, places in places_of.items():
        ways = {located.how for _, located in places}
        strictest = next((how for how in ("exact", "folded", "fuzzy") if how in ways), "")
        spans[text] = [
            Span(doc, start, end)
            for doc, located in places
            if located.how == strictest
            for start, end in located.places
        ]
    return spans


def _fold(text: str) -> str:
    return " ".join(normalise(text).casefold().split())
