"""The records of a page of questions, in every cell: a column a field, each value once.

Answers, and the values and states of scores, are not among them: they have parts of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from harness.lines import SpanKey, judged_of
from harness.ranked import Ranked
from harness.records import Label, Stage
from harness.report.data.packing import Column, falling, short
from harness.report.data.prompts import around, context, held
from harness.stored import (
    ArrivalLine,
    FactsLine,
    HitLine,
    MissedLine,
    RecordLine,
    SampleLine,
    ScoreLine,
)

STAGES = ("none", "chunking", "index", "retrieval", "reranking", "context", "generation")
FACTS = tuple(FactsLine.model_fields)
STATES = {"scored": "", "not_scored": "n", "failed": "f", "judge_failed": "j"}
FAILED = -1
"""Stands in place of the number of a stage where the question failed."""
_RUNNING: tuple[Stage, ...] = get_args(Stage)
_FEW = 3
"""Significant digits of seconds and shares."""


class Page:
    """Takes the records of one question after the other, in the order of the cells.

    `numbers` and `texts` are those of the chunks; what is `left_out` is null. `ranked` are the
    metrics that say in words what a score follows from, where the record does not.
    """

    def __init__(
        self,
        labels: Label,
        metrics: Sequence[str],
        numbers: Mapping[SpanKey, int],
        texts: Mapping[SpanKey, str],
        left_out: Sequence[str],
        ranked: Mapping[str, Ranked],
    ) -> None:
        self._ranked = ranked
        self._labels = labels
        self._metrics = metrics
        self._numbers = numbers
        self._texts = texts
        self._left_out = left_out
        self._columns: defaultdict[str, Column] = defaultdict(Column)
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
                    self._score(number, record.scores[name], self._ranked.get(name), record)

    def packable(self) -> dict[str, Any]:
        """Return the page.

        `rows` has the row of each cell, -1 where it has none; `seen` the number and the grade of
        each chunk that is a hit of the question in some cell, which `hits` are numbers in.
        """
        columns = {name: column.packable() for name, column in self._columns.items()}
        return {"rows": self._rows, "seen": [list(each) for each in self._seen], "columns": columns}

    def _add(self, name: str, value: Any) -> None:
        self._columns[name].add(value)

    def _ranking(self, record: RecordLine) -> None:
        keys = [_place(hit) for hit in record.hits]
        grades = [hit.grade for hit in record.hits]
        seen = self._seen[-1]
        found = [(self._numbers[key], grade) for key, grade in zip(keys, grades, strict=True)]
        self._add("hits", tuple([seen.setdefault(each, len(seen)) for each in found]))
        self._add("similarities", tuple(falling([hit.score for hit in record.hits])))
        before = {_place(hit): rank for rank, hit in enumerate(record.candidates, start=1)}
        self._add("before", tuple([before.get(key) for key in keys]) if before else None)
        missed = [(self._numbers.get(_place(m)), m.grade, m.rank) for m in record.missed]
        self._add("missed", tuple(missed))
        self._add("tracedTo", record.traced_to)
        shown = context(record, self._texts)
        dropped = isinstance(shown, str) and "contexts" in self._left_out
        self._add("context", None if dropped else shown)
        judged = record.judged.get(self._labels)
        self._add("judged", judged is not None)
        self._add("inventory", None if judged is None else _tuple(judged.inventory))
        given = None if judged is None else tuple(judged.grades)
        items = [key[0] for key in keys] if self._labels == "documents" else keys
        self._add("grades", None if given == _first(items, grades) else given)

    def _answer(self, record: RecordLine) -> None:
        self._add("declined", record.declined)
        usage = record.usage
        said = (usage.tokens_in, usage.tokens_out, usage.model, usage.finish) if usage else None
        self._add("usage", said)
        self._add("searched", tuple(record.searched))
        for stage in _RUNNING:
            self._add(stage, short(record.seconds.get(stage), _FEW))
        self._add("prompt", None if "prompts" in self._left_out else around(record))
        samples = () if "samples" in self._left_out else record.samples
        self._add("samples", tuple(map(self._sample, samples)))

    def _sample(self, sample: SampleLine) -> tuple[Any, ...]:
        scores = [self._parts(sample.scores[name]) for name in self._metrics]
        return sample.answer, sample.declined, tuple(scores)

    def _loss(self, record: RecordLine) -> None:
        self._add("lost", None if record.lost_at is None else STAGES.index(record.lost_at))
        self._add("without", record.without_evidence)
        self._add("held", held(record))
        arrived = [
            (each.group, None if each.stage is None else STAGES.index(each.stage), *_facts(each))
            for each in record.passages
        ]
        self._add("passages", tuple(arrived))
        self._add("error", record.error and (record.error.stage, record.error.reason))

    def _score(
        self, number: int, score: ScoreLine, ranked: Ranked | None, record: RecordLine
    ) -> None:
        _, _, reason, verdicts = self._parts(score)
        if ranked is not None and score.value is not None and not score.reason:
            judged = record.judged.get(ranked.labels or self._labels)
            if judged is not None and "reasons" not in self._left_out:
                reason = ranked.reason(judged_of(judged))
        self._add(f"reason-{number}", reason)
        self._add(f"verdicts-{number}", verdicts)

    def _parts(self, score: ScoreLine) -> tuple[Any, ...]:
        """Return value, state, reason and verdicts."""
        value, state = short(score.value), STATES[score.state]
        reason = "" if "reasons" in self._left_out else score.reason
        said = () if "verdicts" in self._left_out else score.verdicts
        verdicts = [(v.of, v.value, v.reason, tuple(v.replies)) for v in said]
        return value, state, reason, tuple(verdicts)


def _place(hit: HitLine | MissedLine) -> SpanKey:
    return hit.doc, hit.start, hit.end


def _tuple(grades: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if grades is None else tuple(grades)


def _first(items: Sequence[Any], grades: Sequence[int | None]) -> tuple[int | None, ...]:
    """Return the grade of each distinct item of a ranking: `data.js` does the same."""
    first: dict[Any, int | None] = {}
    for item, grade in zip(items, grades, strict=True):
        first.setdefault(item, grade)
    return tuple(first.values())


def _facts(arrival: ArrivalLine) -> list[Any]:
    values = [getattr(arrival.facts, name) for name in FACTS]
    return [short(value, _FEW) if isinstance(value, float) else value for value in values]
