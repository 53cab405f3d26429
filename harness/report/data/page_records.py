"""Encodes the records of some questions as columns, with each distinct value stored once.

Answers, and the values and states of scores, are not among them: they have parts of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, get_args

from harness.metrics.judged_ranking import JudgedRankingMetric
from harness.records import (
    AnswerSample,
    Arrival,
    ContextCut,
    Label,
    Missed,
    Outcome,
    PassageFacts,
    Score,
    SpanKey,
    Stage,
    StoredHit,
)
from harness.report.data.page_packing import Column, encode_differences, round_digits
from harness.runs.outcomes import held_sentence

STAGES = ("none", "chunking", "index", "retrieval", "reranking", "context", "generation")
FACTS = tuple(field.name for field in fields(PassageFacts))
STATES = {"scored": "", "not_scored": "n", "failed": "f", "metric_failed": "m"}
FAILED = -1
"""Stands in place of the number of a stage where the question failed."""
_RUNNING: tuple[Stage, ...] = get_args(Stage)
_FEW_DIGITS = 3
"""Significant digits of seconds and shares."""


class PageRecords:
    """Takes the records of one question after the other, in the order of the cells.

    `numbers` are those of the chunks; what is `left_out` is null. `ranked` are the
    metrics that say in words what a score follows from, where the record does not.
    """

    def __init__(
        self,
        labels: Label,
        metrics: Sequence[str],
        numbers: Mapping[SpanKey, int],
        left_out: Sequence[str],
        ranked: Mapping[str, JudgedRankingMetric],
    ) -> None:
        self._ranked = ranked
        self._labels = labels
        self._metrics = metrics
        self._numbers = numbers
        self._left_out = left_out
        self._columns: defaultdict[str, Column] = defaultdict(Column)
        self._seen: list[dict[tuple[int, int | None], int]] = []
        self._rows: list[list[int]] = []
        self._asked = 0

    def question(self, records: Sequence[Outcome | None]) -> None:
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
                    self._score(number, record.scores[name], self._ranked.get(name), record)

    def packable(self) -> dict[str, Any]:
        """Return the page.

        `rows` has the row of each cell, -1 where it has none; `seen` the number and the grade of
        each chunk that is a hit of the question in some cell, which `hits` are numbers in.
        """
        columns = {name: column.packable() for name, column in self._columns.items()}
        return {
            "rows": self._rows,
            "seen": [list(chunks) for chunks in self._seen],
            "columns": columns,
        }

    def _add(self, name: str, value: Any) -> None:
        self._columns[name].add(value)

    def _ranking(self, record: Outcome) -> None:
        keys = [_span_key(hit) for hit in record.hits]
        grades = [hit.grade for hit in record.hits]
        seen = self._seen[-1]
        chunks = [(self._numbers[key], grade) for key, grade in zip(keys, grades, strict=True)]
        self._add("hits", tuple([seen.setdefault(chunk, len(seen)) for chunk in chunks]))
        self._add("similarities", tuple(encode_differences([hit.score for hit in record.hits])))
        before = {_span_key(hit): rank for rank, hit in enumerate(record.candidates, start=1)}
        self._add("before", tuple([before.get(key) for key in keys]) if before else None)
        missed = [(self._numbers.get(_span_key(m)), m.grade, m.rank) for m in record.missed]
        self._add("missed", tuple(missed))
        self._add("tracedTo", record.traced_to)
        sent: tuple[int, int] | str | None
        if isinstance(record.context, ContextCut):
            sent = record.context.hits, record.context.characters
        else:
            sent = None if "contexts" in self._left_out else record.context
        self._add("context", sent)
        judged = record.judged.get(self._labels)
        self._add("judged", judged is not None)
        self._add("inventory", None if judged is None else _as_tuple(judged.inventory))
        judged_grades = None if judged is None else tuple(judged.grades)
        items = [key[0] for key in keys] if self._labels == "documents" else keys
        self._add(
            "grades", None if judged_grades == _first_grades(items, grades) else judged_grades
        )

    def _answer(self, record: Outcome) -> None:
        self._add("declined", record.declined)
        usage = record.usage
        usage_row = (
            (usage.tokens_in, usage.tokens_out, usage.model, usage.finish) if usage else None
        )
        self._add("usage", usage_row)
        self._add("searched", tuple(record.searched))
        for stage in _RUNNING:
            self._add(stage, round_digits(record.seconds.get(stage), _FEW_DIGITS))
        self._add("prompt", None if "prompts" in self._left_out else record.prompt or None)
        samples = () if "samples" in self._left_out else record.samples
        self._add("samples", tuple(map(self._sample, samples)))

    def _sample(self, sample: AnswerSample) -> tuple[Any, ...]:
        scores = [self._parts(sample.scores[name]) for name in self._metrics]
        return sample.answer, sample.declined, tuple(scores)

    def _loss(self, record: Outcome) -> None:
        self._add("lost", None if record.lost_at is None else STAGES.index(record.lost_at))
        self._add("without", record.without_evidence)
        self._add("held", held_sentence(record))
        arrived = [
            (
                arrival.group,
                None if arrival.stage is None else STAGES.index(arrival.stage),
                *_fact_values(arrival),
            )
            for arrival in record.passages
        ]
        self._add("passages", tuple(arrived))
        self._add("error", record.error and (record.error.stage, record.error.reason))

    def _score(
        self, number: int, score: Score, ranked: JudgedRankingMetric | None, record: Outcome
    ) -> None:
        reason = self._reason(score)
        if ranked is not None and score.value is not None and not score.reason:
            judged = record.judged.get(ranked.labels or self._labels)
            if judged is not None and "reasons" not in self._left_out:
                reason = ranked.reason(judged)
        self._add(f"reason-{number}", reason)
        self._add(f"verdicts-{number}", self._verdicts(score))

    def _parts(self, score: Score) -> tuple[Any, ...]:
        """Return value, state, reason and verdicts."""
        value, state = round_digits(score.value), STATES[score.state]
        return value, state, self._reason(score), self._verdicts(score)

    def _reason(self, score: Score) -> str:
        return "" if "reasons" in self._left_out else score.reason

    def _verdicts(self, score: Score) -> tuple[Any, ...]:
        if not score.verdicts or "verdicts" in self._left_out:
            return ()
        return tuple([(v.of, v.value, v.reason, tuple(v.replies)) for v in score.verdicts])


def _span_key(hit: StoredHit | Missed) -> SpanKey:
    return hit.doc, hit.start, hit.end


def _as_tuple(grades: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if grades is None else tuple(grades)


def _first_grades(items: Sequence[Any], grades: Sequence[int | None]) -> tuple[int | None, ...]:
    """Return the grade of each distinct item of a ranking: `data.js` does the same."""
    first: dict[Any, int | None] = {}
    for item, grade in zip(items, grades, strict=True):
        first.setdefault(item, grade)
    return tuple(first.values())


def _fact_values(arrival: Arrival) -> list[Any]:
    values = [getattr(arrival.facts, name) for name in FACTS]
    return [
        round_digits(value, _FEW_DIGITS) if isinstance(value, float) else value for value in values
    ]
