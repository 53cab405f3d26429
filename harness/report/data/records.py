"""The records of a page of questions, in every cell: a column a field, each value once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.context import SEPARATOR
from harness.lines import SpanKey
from harness.records import Label
from harness.report.data.packing import Column, short
from harness.stored import ArrivalLine, FactsLine, HitLine, RecordLine, SampleLine, ScoreLine

STAGES = ("none", "chunking", "index", "retrieval", "reranking", "context", "generation")
FACTS = tuple(FactsLine.model_fields)
STATES = {"scored": "", "not_scored": "n", "failed": "f", "judge_failed": "j"}
_SCORE = ("value", "state", "reason", "verdicts")
_RUNNING = ("retrieval", "generation")
_FEW = 3
"""Significant digits of seconds and shares."""


class Page:
    """Takes the records of one question after the other, in the order of the cells.

    `numbers` and `texts` are those of the chunks; what is `left_out` is null.
    """

    def __init__(
        self,
        labels: Label,
        metrics: Sequence[str],
        numbers: Mapping[SpanKey, int],
        texts: Mapping[SpanKey, str],
        left_out: Sequence[str],
    ) -> None:
        self._labels = labels
        self._metrics = metrics
        self._numbers = numbers
        self._texts = texts
        self._left_out = left_out
        self._columns: dict[str, Column] = {}
        self._seen: list[dict[tuple[int, int | None], int]] = []
        self._rows: list[list[int]] = []
        self._asked = 0

    def question(self, records: Sequence[RecordLine | None]) -> None:
        """Append one question's record in each cell; None where it was not asked there."""
        self._seen.append({})
        self._rows.append([])
        for record in records:
            self._rows[-1].append(-1 if record is None else self._asked)
            if record is not None:
                self._asked += 1
                self._ranking(record)
                self._answer(record)
                self._loss(record)
                for number, name in enumerate(self._metrics):
                    self._score(number, record.scores[name])

    def packable(self) -> dict[str, Any]:
        """Return the page.

        `rows` has the row of each cell, -1 where it has none; `seen` the number and the grade of
        each chunk that is a hit of the question in some cell, which `hits` are numbers in.
        """
        columns = {name: column.packable() for name, column in self._columns.items()}
        return {"rows": self._rows, "seen": [list(each) for each in self._seen], "columns": columns}

    def _add(self, name: str, value: Any) -> None:
        self._columns.setdefault(name, Column()).add(value)

    def _ranking(self, record: RecordLine) -> None:
        keys = [_place(hit) for hit in record.hits]
        grades = [hit.grade for hit in record.hits]
        seen = self._seen[-1]
        found = [(self._numbers[key], grade) for key, grade in zip(keys, grades, strict=True)]
        self._add("hits", tuple([seen.setdefault(each, len(seen)) for each in found]))
        self._add("similarities", tuple([short(hit.score) for hit in record.hits]))
        before = {_place(hit): rank for rank, hit in enumerate(record.candidates, start=1)}
        self._add("before", tuple([before.get(key) for key in keys]) if before else None)
        missed = [
            (self._numbers.get((each.doc, each.start, each.end)), each.grade, each.rank)
            for each in record.missed
        ]
        self._add("missed", tuple(missed))
        self._add("tracedTo", record.traced_to)
        self._add("context", self._context(record, keys))
        judged = record.judged.get(self._labels)
        self._add("judged", judged is not None)
        self._add("inventory", None if judged is None else _tuple(judged.inventory))
        given = None if judged is None else tuple(judged.grades)
        self._add("grades", None if given == _collapsed(record.hits, self._labels) else given)

    def _context(self, record: RecordLine, keys: Sequence[SpanKey]) -> Any:
        """Return how many hits the context has and how much of the last, or else its text."""
        context = record.context
        if context is None:
            return None
        at = 0
        for count, key in enumerate(keys, start=1):
            text = self._texts[key]
            if text.startswith(context[at:]):
                return count, len(context) - at
            if not context.startswith(text + SEPARATOR, at):
                break
            at += len(text) + len(SEPARATOR)
        return None if "contexts" in self._left_out else context

    def _answer(self, record: RecordLine) -> None:
        self._add("answer", record.answer)
        self._add("declined", record.declined)
        usage = record.usage
        said = (usage.tokens_in, usage.tokens_out, usage.model, usage.finish) if usage else None
        self._add("usage", said)
        self._add("searched", tuple(record.searched))
        for stage in _RUNNING:
            self._add(stage, short(record.seconds.get(stage), _FEW))
        prompt = None if "prompts" in self._left_out else record.prompt
        parts = None if prompt is None else tuple(prompt.split(record.context or prompt, 1))
        self._add("prompt", (prompt,) if parts == ("", "") else parts)
        samples = () if "samples" in self._left_out else record.samples
        self._add("samples", tuple(map(self._sample, samples)))

    def _sample(self, sample: SampleLine) -> tuple[Any, ...]:
        scores = [self._parts(sample.scores[name]) for name in self._metrics]
        return sample.answer, sample.declined, tuple(scores)

    def _loss(self, record: RecordLine) -> None:
        self._add("lost", None if record.lost_at is None else STAGES.index(record.lost_at))
        self._add("without", record.without_evidence)
        arrived = [
            (each.group, None if each.stage is None else STAGES.index(each.stage), *_facts(each))
            for each in record.passages
        ]
        self._add("passages", tuple(arrived))
        self._add("error", record.error and (record.error.stage, record.error.reason))

    def _score(self, number: int, score: ScoreLine) -> None:
        for name, value in zip(_SCORE, self._parts(score), strict=True):
            self._add(f"{name}-{number}", value)

    def _parts(self, score: ScoreLine) -> tuple[Any, ...]:
        """Return value, state, reason and verdicts."""
        value, state = short(score.value), STATES[score.state]
        if "reasons" in self._left_out:
            return value, state, "", ()
        verdicts = [(v.of, v.value, v.reason, tuple(v.replies)) for v in score.verdicts]
        return value, state, score.reason, tuple(verdicts)


def _place(hit: HitLine) -> SpanKey:
    return hit.doc, hit.start, hit.end


def _tuple(grades: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if grades is None else tuple(grades)


def _collapsed(hits: Sequence[HitLine], labels: Label) -> tuple[int | None, ...]:
    """Return the grades of the distinct items of a ranking: `data.js` does the same."""
    first: dict[Any, int | None] = {}
    for hit in hits:
        first.setdefault(hit.doc if labels == "documents" else _place(hit), hit.grade)
    return tuple(first.values())


def _facts(arrival: ArrivalLine) -> list[Any]:
    values = [getattr(arrival.facts, name) for name in FACTS]
    return [short(value, _FEW) if isinstance(value, float) else value for value in values]
