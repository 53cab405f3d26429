"""Test-set reader for AutoRAG's qa.parquet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from harness.corpus import Corpus
from harness.errors import Problem
from harness.files import parquet
from harness.files.json_lines import JsonLine
from harness.files.reading import FileShape
from harness.records import Question
from harness.testset import Note, readers
from harness.testset.jsonl_questions import resolve_questions

_FILE = "qa.parquet"
_COLUMNS = ("qid", "query", "retrieval_gt", "generation_gt")


@readers.register
@dataclass(frozen=True)
class Autorag:
    """AutoRAG's `qa.parquet`, or a folder that holds it; goes with the corpus of that name.

    `retrieval_gt` gives the relevant documents, and whole passages as evidence: one of each inner
    list is needed. `generation_gt` gives the reference answers.
    """

    path: str

    name: ClassVar[str] = "autorag"
    version: ClassVar[int] = 1
    shape: ClassVar[FileShape] = FileShape(suffixes=(".parquet",), holds=(_FILE,))

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the file's order."""
        yield from resolve_questions(self._rows(corpus), corpus, "row")

    def count_unplaced(self) -> Mapping[str, int]:
        """Return how many values of the file a question has no place for, by their column."""
        counts: Counter[str] = Counter()
        for row in parquet.rows(self._file()):
            counts.update(key for key in row if key not in _COLUMNS and row[key] is not None)
        return counts

    def _file(self) -> Path:
        path = Path(self.path)
        return path / _FILE if path.is_dir() else path

    def _rows(self, corpus: Corpus) -> Iterator[JsonLine | Problem]:
        for number, row in enumerate(parquet.rows(self._file(), _COLUMNS), start=1):
            where = f"row {number}"
            groups, answers = _parse_groups(row["retrieval_gt"]), row["generation_gt"]
            if groups is None:
                hint = "a list of lists of ids, a list of ids, or an id"
                yield Problem(where, "`retrieval_gt` names no documents", hint)
                continue
            data = {
                "id": row["qid"],
                "question": row["query"],
                "answers": [answers] if isinstance(answers, str) else answers or [],
                "evidence": list(_build_evidence(groups, corpus)),
                "documents": {id_: 1 for group in groups for id_ in group} or None,
            }
            yield JsonLine(number, data, where)


def _parse_groups(groups: Any) -> list[list[str]] | None:
    """Return what is needed, each as its alternatives; None where `groups` is of no such form."""
    if isinstance(groups, str):
        groups = [[groups]]
    if not isinstance(groups, list):
        return [] if groups is None else None
    if groups and all(isinstance(item, str) for item in groups):
        groups = [groups]
    if not all(
        isinstance(group, list) and all(isinstance(id_, str) for id_ in group) for group in groups
    ):
        return None
    return [ids for group in groups if (ids := [id_ for id_ in group if id_])]


def _build_evidence(groups: list[list[str]], corpus: Corpus) -> Iterator[dict[str, Any]]:
    for number, group in enumerate(groups, start=1):
        for id_ in dict.fromkeys(group):
            document = corpus.documents.get(id_)
            if document is not None and document.text.strip():
                end = len(document.text)
                yield {"doc": id_, "start": 0, "end": end, "group": f"#{number}"}
