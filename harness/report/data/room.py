"""What of a large run is too much for one page, and is in `records.jsonl` alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from harness.lines import SpanKey
from harness.report.data.prompts import around, context
from harness.stored import RecordLine, ScoreLine

Kind = Literal["reasons", "verdicts", "samples", "prompts", "contexts"]
"""What can be left out, the last first."""
ROOM = 24_000_000
"""Characters, each text of a question counted once: they come to some 8 MB of the page."""


def left_out(
    questions: Iterable[Sequence[RecordLine | None]], texts: Mapping[SpanKey, str], room: int = ROOM
) -> list[Kind]:
    """Return which kinds of text of a run are left out of its page.

    Args:
        questions: The records of each question.
        texts: The chunks'.
        room: How many characters there is room for.
    """
    taken: dict[Kind, int] = dict.fromkeys(get_args(Kind), 0)
    for records in questions:
        said: dict[Kind, set[str]] = {kind: set() for kind in taken}
        for record in records:
            for kind, text in _texts(record, texts) if record is not None else ():
                said[kind].add(text)
        for kind, found in said.items():
            taken[kind] += sum(map(len, found))
    missing: list[Kind] = []
    for kind, characters in taken.items():
        if characters > room:
            missing.append(kind)
        else:
            room -= characters
    return missing


def _texts(record: RecordLine, texts: Mapping[SpanKey, str]) -> Iterator[tuple[Kind, str]]:
    for score in record.scores.values():
        yield "reasons", score.reason
        for text in _verdicts(score):
            yield "verdicts", text
    for sample in record.samples:
        yield "samples", sample.answer or ""
        for score in sample.scores.values():
            yield "samples", score.reason
            for text in _verdicts(score):
                yield "samples", text
    for text in around(record) or ():
        yield "prompts", text
    shown = context(record, texts)
    if isinstance(shown, str):
        yield "contexts", shown


def _verdicts(score: ScoreLine) -> Iterator[str]:
    for verdict in score.verdicts:
        yield from (verdict.of, verdict.reason, *verdict.replies)
