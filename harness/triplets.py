"""Triplets: a question, its evidence, and a wrong hit that a retriever put above it.

What an embedding model is fine-tuned with; the names of the keys are those that
sentence-transformers trains on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from harness.store import StoredRun
from harness.stored import HitLine, MissedLine, RecordLine


def as_jsonl(stored: StoredRun) -> str:
    """Return each distinct triplet of a run as a line: `anchor`, `positive` and `negative`.

    A wrong hit is one judged not relevant, by rule or by somebody, that stands above a relevant
    chunk; where a relevant chunk was not retrieved, every wrong hit does. A hit that nobody judged
    may be right, and is in none.
    """
    made = (each for record in stored.records for each in _triplets(stored, record))
    # Two documents may hold the same text, one of them judged relevant.
    found = dict.fromkeys(each for each in made if each[1] != each[2])
    return "".join(
        json.dumps(
            {"anchor": anchor, "positive": positive, "negative": negative}, ensure_ascii=False
        )
        + "\n"
        for anchor, positive, negative in found
    )


def _triplets(stored: StoredRun, record: RecordLine) -> Iterator[tuple[str, str, str]]:
    question = stored.questions[record.question].text
    wrong: list[str] = []
    for hit in record.hits:
        if hit.grade is None:
            continue
        if hit.grade <= 0:
            wrong.append(_text(stored, hit))
        else:
            yield from ((question, _text(stored, hit), each) for each in wrong)
    for missed in record.missed:
        yield from ((question, _text(stored, missed), each) for each in wrong)


def _text(stored: StoredRun, line: HitLine | MissedLine) -> str:
    return stored.texts[(line.doc, line.start, line.end)]
