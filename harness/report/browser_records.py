"""What a page holds of each record, beside answers, and values and states of scores."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from harness.metrics.judged_ranking import JudgedRankingMetric
from harness.records import Arrival, ContextCut, Label, Missed, Outcome, Score, SpanKey
from harness.records import StoredHit as Hit
from harness.report.run_view import View
from harness.runs.outcomes import held_sentence
from harness.store.cell_results import CellResult
from harness.store.frame import LOST, UNKNOWN
from harness.store.frame import STATES as SCORED
from harness.text import numbers
from harness.text.escaping import BIDI_CONTROLS

STAGES = ("none", "chunking", "index", "retrieval", "reranking", "context", "generation")
STATES = {"scored": "", "not_scored": "n", "failed": "f", "metric_failed": "m"}
FAILED = -1
"""Stands in place of the number of a stage where the question failed."""
DIGITS = 6
"""Significant digits of scores: more than anything shows, and half the room of all of them."""
_ESCAPED = re.compile(f"[<{BIDI_CONTROLS}]")
_MAX_QUESTIONS = 10
_FAILED = "failed"
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
            score = record.scores[name]
            row[f"verdicts-{number}"] = self._verdicts(score)
            reason = score.reason or self._follows(record, name)
            row[f"reason-{number}"] = self._text("reasons", reason) or ""
        return row

    def _text(self, kind: str, value: Any) -> Any:
        return None if kind in self.left_out else value

    def _score(self, score: Score) -> dict[str, Any]:
        return {
            "value": round_digits(score.value),
            "state": STATES[score.state],
            "reason": self._text("reasons", score.reason) or "",
            "verdicts": self._verdicts(score),
        }

    def _verdicts(self, score: Score) -> list[dict[str, Any]]:
        return self._text("verdicts", list(map(asdict, score.verdicts))) or []

    def _follows(self, record: Outcome, name: str) -> str:
        """Return what a score follows from; "" where the grades do not say it."""
        metric = self.ranked.get(name)
        judged = metric and record.judged.get(metric.labels or self.labels)
        known = metric and judged and record.scores[name].value is not None
        return metric.reason(judged) if metric and judged and known else ""


def _span_key(hit: Hit | Missed) -> SpanKey:
    return hit.doc, hit.start, hit.end


def count_going_on(view: View, cell: CellResult) -> int | None:
    """Return how many of the hits retrieved go on, to be reranked or read; None: all of them."""
    settings = view.run.config.get("resolved", {})
    context_chunks: int | None = (settings.get("context") or {}).get("chunks")
    return context_chunks if cell.reranker == "none" else settings.get("retrieve")


def describe_arrival(arrival: Arrival, traced_to: int | None, going_on: int | None) -> str:
    """Return what is known of a group of passages.

    Args:
        arrival: What became of it.
        traced_to: How deep exact search was looked at.
        going_on: How many of what was retrieved go on; None: all.
    """
    facts, stage = arrival.facts, arrival.stage
    last = _whole(facts.rank if facts.reranked is None else facts.reranked)
    below = ""
    if facts.rank is not None and going_on is not None:
        below = f"{_whole(facts.rank)}, below the first {going_on:,} that go on"
    if stage is None:
        return "in the prompt" if last == _whole(None) else f"in the prompt, {last}"
    if stage == "chunking":
        if facts.pieces == 0:
            return "no chunk holds any of it"
        over = numbers.count(facts.pieces, "chunk") if facts.pieces else "several chunks"
        share = "" if facts.largest is None else numbers.percentage(facts.largest)
        largest = f", the largest share in one is {share}" if share else ""
        return f"no chunk holds it whole: it is spread over {over}{largest}"
    if stage == "index":
        found = f"with the index {below}" if below else "not found by the index"
        return f"{true_rank(facts.exact_rank, traced_to)}, and {found}"
    if stage == "retrieval":
        deep = f"not whole in what was retrieved: {true_rank(facts.exact_rank, traced_to)}"
        return below or deep
    if stage == "reranking":
        after = "not kept" if facts.reranked is None else f"at {facts.reranked:,}"
        return f"{_whole(facts.rank)} before reranking, {after} after"
    cut = facts.cut_at
    ended = "and not in the prompt" if cut is None else f"but the context was cut at token {cut:,}"
    return f"{last}, {ended}"


def _whole(rank: int | None) -> str:
    return "not whole" if rank is None else f"whole at rank {rank:,}"


def true_rank(rank: int | None, traced_to: int | None) -> str:
    """Return where exact search has something, or how deep it was looked for."""
    if rank is not None:
        return f"rank {rank:,} under exact search"
    if traced_to is None:
        return "its true rank is not known"
    return f"not within the first {traced_to:,} under exact search"


def choose_first(view: View) -> list[Outcome]:
    """Return at most ten records of the cell to ship, the worst of each stage in turn.

    Worse is lower by the deciding metric, then by the mean of the other quality metrics. Questions
    that failed come first; those that no stage lost only where there are no ten others.
    """
    cell = view.focus
    if cell is None:
        return []
    columns, places = view.stored.frame, view.places(cell)
    places = places[columns.state[view.by][places] != SCORED.index("not_scored")]
    about = view.run.provenance.metrics
    quality = [columns.value[name] for name in about if about[name].kind == "quality"]

    def goodness(place: int) -> tuple[float, float]:
        decided = columns.value[view.by][place]
        values = [column[place] for column in quality if column[place] == column[place]]
        others = sum(values) / len(values) if values else 0.0
        return (decided if decided == decided else -1.0), others  # nan where there is none

    ranked = sorted(places.tolist(), key=goodness)
    by_stage: dict[str | None, list[int]] = defaultdict(list)
    for place in ranked:
        code = columns.lost[place]
        lost_at = None if code == UNKNOWN else LOST[code]
        by_stage[_FAILED if columns.failed[place] else lost_at].append(place)
    losing = zip_longest(*(by_stage[stage] for stage in (_FAILED, *STAGES[1:])))
    in_turn = [place for of_each in losing for place in of_each if place is not None]
    lost = set(in_turn)
    chosen = [*in_turn, *(place for place in ranked if place not in lost)][:_MAX_QUESTIONS]
    return list(view.stored.records_at(np.array(chosen, dtype=np.int64)))


def pack(value: Any) -> str:
    """Return a value as base64 of gzip of JSON; equal values give equal texts."""
    return base64.b64encode(gzip.compress(_json(value), compresslevel=6, mtime=0)).decode()


def script_json(value: Any) -> str:
    """Return a value as JSON that may stand in a `script` element.

    It holds no `<`, and nothing that turns the direction of the text behind it.
    """
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", _json(value).decode())


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")  # half a surrogate pair becomes its escape


def round_digits(number: float | None, digits: int = DIGITS) -> float | None:
    """Return a number with a few significant digits, and without a point where it is whole."""
    if number is None:
        return None
    rounded = float(f"{number:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def encode_differences(numbers: Sequence[float]) -> list[int]:
    """Return how many decimals the largest has at six digits, and by how much each is lower.

    Both in units of the last decimal: the first number's difference is from 0. Scores of a ranking
    fall slowly, so that differences are short.
    """
    largest = max(map(abs, numbers), default=0.0)
    decimals = DIGITS - 1 - (math.floor(math.log10(largest)) if largest else 0)
    whole = [round(number * 10.0**decimals) for number in numbers]
    return [decimals, *(before - value for before, value in pairwise([0, *whole]))]
