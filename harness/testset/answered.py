"""Answers that lie beside a benchmark of retrieval, one question a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import BaseModel, ValidationError

from harness.corpus import Corpus, normalised
from harness.corpus.squad import Answer
from harness.errors import Problem
from harness.jsonl import rows
from harness.testset import Note
from harness.testset.jsonl import PlacedRow

_NEAR = 8
"""Characters from its offset at which an answer is still looked for."""


class _Answered(BaseModel):
    id: Annotated[str, MinLen(1)]
    context_id: str | None = None
    answers: list[str | Answer] = []
    evidence: list[str] = []
    answerable: bool = True


def answer_rows(path: Path, corpus: Corpus) -> Iterator[PlacedRow | Problem | Note]:
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
            found = _Answered.model_validate(row.data)
        except ValidationError as error:
            first = error.errors()[0]
            yield Problem(where, f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}")
            continue
        if found.id in seen:
            yield Problem(where, f"the id {found.id!r} is there twice", "make each id unique")
        elif found.context_id is None and found.evidence:
            yield Problem(where, "has evidence and no `context_id`", "name its document")
        else:
            seen.add(found.id)
            document = corpus.documents.get(found.context_id or "")
            answers = _placed(found, "" if document is None else document.text)
            if any(moved for *_, moved in answers):
                yield Note("an answer was found near its offset, and not at it")
            yield PlacedRow(row.line, _row(found, answers), where)


def _row(found: _Answered, answers: list[tuple[int, str, bool]]) -> dict[str, Any]:
    texts = [each if isinstance(each, str) else each.text for each in found.answers]
    evidence: list[dict[str, Any]] = [
        {"doc": found.context_id, "quote": quote} for quote in dict.fromkeys(found.evidence)
    ]
    if not evidence and found.context_id is not None:
        evidence = [
            {"doc": found.context_id, "start": start, "end": start + len(quote), "quote": quote}
            for start, quote, _ in dict.fromkeys(answers)
        ]
        evidence = [{**each, "group": "answer"} for each in evidence]
    return {
        "id": found.id,
        "answers": list(dict.fromkeys(text for text in texts if text.strip())),
        "evidence": evidence,
        "answerable": found.answerable,
    }


def _placed(found: _Answered, text: str) -> list[tuple[int, str, bool]]:
    """Return the start and text of each answer that has an offset, and whether it was moved.

    Packagers strip documents of the white space around them, and leave the offsets as they were.
    """
    placed: list[tuple[int, str, bool]] = []
    for each in found.answers:
        if isinstance(each, Answer) and each.text.strip():
            quote, start = normalised(each.text), each.answer_start
            if not text.startswith(quote, start):
                low, high = max(0, start - _NEAR), start + _NEAR
                near = [at for at in range(low, high + 1) if text.startswith(quote, at)]
                start = min(near, key=lambda at: abs(at - each.answer_start), default=start)
            placed.append((start, quote, start != each.answer_start))
    return placed
