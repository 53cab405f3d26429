"""Test-set reader for BEIR, the layout of the retrieval benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import MinLen
from pydantic import BaseModel, TypeAdapter

from harness.corpus import Corpus
from harness.corpus.squad_documents import NEAR_NOTE, SquadAnswer, find_near
from harness.errors import Problem
from harness.files import data_rows
from harness.files.json_lines import JsonLine, rows
from harness.files.reading import FileShape
from harness.files.trec import read_qrels
from harness.records import Question
from harness.testset import Note, readers
from harness.testset.jsonl_questions import resolve_questions
from harness.text.words import normalise


@readers.register
@dataclass(frozen=True)
class Beir:
    """A folder with `queries.jsonl` and `qrels/<split>.tsv` (query, document, grade).

    The questions of the split are those it judges; the others are left out, and counted.
    `answers` names a .jsonl file in the folder with what BEIR has no place for, a line a question:
    `id`, `answers` (texts, or `{text, answer_start}`), `context_id` (their document), `evidence`
    (quotes of it), `answerable`. Those it says are unanswerable are kept without a judgement.
    """

    path: str
    split: str = "test"
    answers: str | None = None

    name: ClassVar[str] = "beir"
    version: ClassVar[int] = 1
    shape: ClassVar[FileShape] = FileShape(holds=("queries.jsonl", "qrels"))

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the order of `queries.jsonl`."""
        queries = Path(self.path) / "queries.jsonl"
        qrels = Path(self.path) / "qrels" / f"{self.split}.tsv"
        for file in (queries, qrels):
            if not file.is_file():
                splits = sorted(split_file.stem for split_file in qrels.parent.glob("*.tsv"))
                hint = f"splits there: {', '.join(splits)}" if splits else "beir: wants the folder"
                yield Problem(str(file.relative_to(self.path)), "is not there", hint)
                return
        grades = read_qrels(qrels)
        answered: dict[str, JsonLine] = {}
        if self.answers is not None:
            for row in _read_answers(Path(self.path) / self.answers, corpus):
                if isinstance(row, JsonLine):
                    answered[row.data["id"]] = row
                else:
                    yield row
        yield from resolve_questions(_read_rows(queries, grades, answered), corpus)


def _read_rows(
    queries: Path, grades: dict[str, dict[str, int]], answered: dict[str, JsonLine]
) -> Iterator[JsonLine | Problem | Note]:
    unseen, unused = dict(grades), dict(answered)
    unjudged = 0
    for row in rows(queries):
        if isinstance(row, Problem):
            yield Problem(f"queries.jsonl, {row.where}", row.what, row.hint)
            continue
        id_, text = str(row.data.get("_id", "")), row.data.get("text")
        answer = unused.pop(id_, None)
        where = f"queries.jsonl, {row.where}"
        if not id_ or not isinstance(text, str) or not text:
            yield Problem(where, "`_id` and `text` must both be given")
        elif id_ in grades and id_ not in unseen:
            yield Problem(where, f"the id {id_!r} is there twice")
        elif id_ in unseen or (answer is not None and not answer.data["answerable"]):
            data = {**(answer.data if answer else {"id": id_}), "question": text}
            data["documents"] = unseen.pop(id_, None)
            yield JsonLine(row.line, data, answer.where if answer else where)
        else:
            unjudged += 1
    for id_ in unseen:
        yield Problem("qrels", f"judges question {id_!r}, which is not in queries.jsonl")
    if unjudged:
        yield Note(f"{unjudged} questions of queries.jsonl are not judged in this split: left out")
    if unused:
        yield Note(f"{len(unused)} answered questions are not in queries.jsonl: left out")


class _AnswerLine(BaseModel):
    id: Annotated[str, MinLen(1)]
    context_id: str | None = None
    answers: list[str | SquadAnswer] = []
    evidence: list[str] = []
    answerable: bool = True


def _read_answers(path: Path, corpus: Corpus) -> Iterator[JsonLine | Problem | Note]:
    """Yield what each line says of its question, under the keys of the JSON Lines format.

    The quotes in `evidence` are each needed. Without any, the places of the answers are the
    evidence, and alternatives.
    """
    seen: set[str] = set()
    for row in data_rows.check_rows(rows(path), TypeAdapter(_AnswerLine)):
        where = f"{path.name}, {row.where}"
        if isinstance(row, Problem):
            yield Problem(where, row.what, row.hint)
        elif row.value.id in seen:
            yield Problem(where, f"the id {row.value.id!r} is there twice", "make each id unique")
        elif row.value.context_id is None and row.value.evidence:
            yield Problem(where, "has evidence and no `context_id`", "name its document")
        else:
            answered = row.value
            seen.add(answered.id)
            document = corpus.documents.get(answered.context_id or "")
            answers = _place_answers(answered, "" if document is None else document.text)
            if any(moved for *_, moved in answers):
                yield Note(NEAR_NOTE)
            yield JsonLine(len(seen), _build_row(answered, answers), where)


def _build_row(answered: _AnswerLine, answers: list[tuple[int, str, bool]]) -> dict[str, Any]:
    texts = [item if isinstance(item, str) else item.text for item in answered.answers]
    evidence: list[dict[str, Any]] = [
        {"doc": answered.context_id, "quote": quote} for quote in dict.fromkeys(answered.evidence)
    ]
    if not evidence and answered.context_id is not None:
        evidence = [
            {"doc": answered.context_id, "start": start, "end": start + len(quote), "quote": quote}
            for start, quote, _ in dict.fromkeys(answers)
        ]
        evidence = [{**item, "group": "answer"} for item in evidence]
    return {
        "id": answered.id,
        "answers": list(dict.fromkeys(text for text in texts if text.strip())),
        "evidence": evidence,
        "answerable": answered.answerable,
    }


def _place_answers(answered: _AnswerLine, text: str) -> list[tuple[int, str, bool]]:
    """Return the start and text of each answer that has an offset, and whether it was moved."""
    places: list[tuple[int, str, bool]] = []
    for answer in answered.answers:
        if isinstance(answer, SquadAnswer) and answer.text.strip():
            quote, start = normalise(answer.text), answer.answer_start
            near = find_near(text, quote, start)
            start = start if near is None else near
            places.append((start, quote, start != answer.answer_start))
    return places
