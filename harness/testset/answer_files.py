"""Read the answers that accompany a retrieval benchmark, one question a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import BaseModel, ValidationError

from harness.corpus import Corpus
from harness.corpus.squad_documents import NEAR_NOTE, SquadAnswer, find_near
from harness.errors import Problem
from harness.files.json_lines import rows
from harness.testset import Note
from harness.testset.jsonl_questions import PlacedRow
from harness.text.normal_form import normalise


class _AnswerLine(BaseModel):
    id: Annotated[str, MinLen(1)]
    context_id: str | None = None
    answers: list[str | SquadAnswer] = []
    evidence: list[str] = []
    answerable: bool = True


def read_answers(path: Path, corpus: Corpus) -> Iterator[PlacedRow | Problem | Note]:
    """Yield what each line says of its question, under the keys of the JSON Lines format.

    The quotes in `evidence` are each needed. Without any, the places of the answers are the
    evidence, and alternatives.

    Raises:
        DataError: there is no such file.
    """
    seen: set[str] = set()
    for row in rows(path):
        where = f"{path.name}, {row.where}"
        if isinstance(row, Problem):
            yield Problem(where, row.what, row.hint)
            continue
        try:
            answered = _AnswerLine.model_validate(row.data)
        except ValidationError as error:
            first = error.errors()[0]
            yield Problem(where, f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}")
            continue
        if answered.id in seen:
            yield Problem(where, f"the id {answered.id!r} is there twice", "make each id unique")
        elif answered.context_id is None and answered.evidence:
            yield Problem(where, "has evidence and no `context_id`", "name its document")
        else:
            seen.add(answered.id)
            document = corpus.documents.get(answered.context_id or "")
            answers = _place_answers(answered, "" if document is None else document.text)
            if any(moved for *_, moved in answers):
                yield Note(NEAR_NOTE)
            yield PlacedRow(row.line, _build_row(answered, answers), where)


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
