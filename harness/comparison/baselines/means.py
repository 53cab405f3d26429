"""Averages several runs of one system: the means of each question, and of each metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum

from harness.comparison.operand import ComparedQuestion, Operand, QuestionResult
from harness.metrics.named_metrics import stored_total
from harness.records import Score
from harness.stats.aggregate_scores import Aggregate, aggregate


def average_results(results: Sequence[QuestionResult]) -> QuestionResult:
    """Return the means of one question over the runs that finished it.

    It failed where it failed in each run.
    """
    if len(results) == 1:
        return results[0]
    finished = [result for result in results if result.error is None]
    tokens = _mean([result.tokens for result in results])
    return QuestionResult(
        scores={
            name: _average_scores([result.scores[name] for result in results])
            for name in (results[0].scores if results else ())
        },
        error=results[-1].error if results and not finished else None,
        seconds=_mean([result.seconds for result in results]),
        tokens=None if tokens is None else round(tokens),
    )


def aggregate_means(
    results: Sequence[QuestionResult], questions: Mapping[str, ComparedQuestion], side: Operand
) -> dict[str, Aggregate]:
    """Return each metric over the averaged results; `side` says what the metrics are."""
    clusters = [question.cluster or "" for question in questions.values()]
    return {
        name: aggregate(
            [result.scores.get(name, Score(None, state="not_scored")) for result in results],
            stored_total(about),
            clusters=clusters if all(clusters) else None,
        )
        for name, about in side.provenance.metrics.items()
    }


def _average_scores(scores: Sequence[Score]) -> Score:
    scored = [score for score in scores if score.state == "scored"]
    if not scored:
        return scores[-1]
    counts = zip(*(score.counts for score in scored), strict=True)
    return Score(
        _mean([score.value for score in scored]),
        counts=tuple(fsum(column) / len(scored) for column in counts),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None
