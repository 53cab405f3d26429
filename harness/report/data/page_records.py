"""What a page holds of each record, beside answers, and values and states of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

from harness.metrics.judged_ranking import JudgedRankingMetric
from harness.records import ContextCut, Label, Missed, Outcome, Score, SpanKey
from harness.records import StoredHit as Hit
from harness.report.data.arrivals import describe_arrival, true_rank
from harness.report.data.page_packing import encode_differences, round_digits
from harness.runs.outcomes import held_sentence

STAGES = ("none", "chunking", "index", "retrieval", "reranking", "context", "generation")
STATES = {"scored": "", "not_scored": "n", "failed": "f", "metric_failed": "m"}
FAILED = -1
"""Stands in place of the number of a stage where the question failed."""
_FEW_DIGITS = 3
"""Significant digits of seconds."""


@dataclass(frozen=True)
class RecordPacker:
    """Makes the values that a page holds of a record.

    `numbers` are those of the chunks; what is `left_out` is null. `ranked` are the
    metrics that say in words what a score follows from, where the record does not. Of what a
    cell retrieved so many as `going_on` says go on.
    """

    labels: Label
    metrics: Sequence[str]
    numbers: Mapping[SpanKey, int]
    ranked: Mapping[str, JudgedRankingMetric]
    left_out: Sequence[str]
    going_on: Mapping[str, int | None]

    def values(self, record: Outcome) -> dict[str, Any]:
        """Return the values by their names; `data.js` is their only reader."""
        before = {_span_key(hit): rank for rank, hit in enumerate(record.candidates, start=1)}
        judged, usage, context = record.judged.get(self.labels), record.usage, record.context
        sent = (
            astuple(context) if isinstance(context, ContextCut) else self._text("contexts", context)
        )
        keys = [_span_key(hit) for hit in record.hits]
        row = {
            "hits": [self.numbers[key] for key in keys],
            "hitGrades": [hit.grade for hit in record.hits],
            "similarities": encode_differences([hit.score for hit in record.hits]),
            "before": [before.get(key) for key in keys] if before else None,
            "missed": [
                {
                    "chunk": self.numbers.get(_span_key(each)),
                    "grade": each.grade,
                    "missing": true_rank(each.rank, record.traced_to),
                }
                for each in record.missed
            ],
            "context": sent,
            "judged": judged and {"grades": judged.grades, "inventory": judged.inventory},
            "declined": record.declined,
            "usage": usage
            and {
                "in": usage.tokens_in,
                "out": usage.tokens_out,
                "model": usage.model,
                "finish": usage.finish,
            },
            "searched": record.searched,
            "seconds": {key: round_digits(s, _FEW_DIGITS) for key, s in record.seconds.items()},
            "prompt": self._text("prompts", record.prompt or None),
            "samples": [
                {
                    "answer": each.answer,
                    "declined": each.declined,
                    "scores": [self._score(each.scores[name]) for name in self.metrics],
                }
                for each in self._text("samples", record.samples) or ()
            ],
            "lost": record.lost_at,
            "without": record.without_evidence,
            "held": held_sentence(record),
            "passages": [
                {
                    "group": each.group,
                    "stage": each.stage,
                    "said": describe_arrival(each, record.traced_to, self.going_on[record.cell]),
                }
                for each in record.passages
            ],
            "error": record.error and asdict(record.error),
        }
        for number, name in enumerate(self.metrics):
            score = self._score(record.scores[name])
            follows = score["reason"] or self._text("reasons", self._follows(record, name)) or ""
            row |= {f"verdicts-{number}": score["verdicts"], f"reason-{number}": follows}
        return row

    def _text(self, kind: str, value: Any) -> Any:
        return None if kind in self.left_out else value

    def _score(self, score: Score) -> dict[str, Any]:
        return {
            "value": round_digits(score.value),
            "state": STATES[score.state],
            "reason": self._text("reasons", score.reason) or "",
            "verdicts": self._text("verdicts", list(map(asdict, score.verdicts))) or [],
        }

    def _follows(self, record: Outcome, name: str) -> str:
        """Return what a score follows from; "" where the grades do not say it."""
        metric = self.ranked.get(name)
        judged = metric and record.judged.get(metric.labels or self.labels)
        known = metric and judged and record.scores[name].value is not None
        return metric.reason(judged) if metric and judged and known else ""


def _span_key(hit: Hit | Missed) -> SpanKey:
    return hit.doc, hit.start, hit.end
