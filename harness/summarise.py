"""The records of one cell to what `run.json` says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean, stdev
from typing import Any

from harness.lines import score
from harness.metrics import Metric
from harness.paths import portable
from harness.records import Label
from harness.registry import description, label
from harness.scoring import Named, label_of, own_chunks, total_of, within_chunker
from harness.statistics.aggregate import aggregate
from harness.stored import AggregateLine, MetricLine, RecordLine, SpreadLine


def aggregated(
    records: Sequence[RecordLine],
    metrics: Sequence[Named],
    seed: int,
    clusters: Mapping[str, str] | None = None,
) -> dict[str, AggregateLine]:
    """Return each metric's mean, interval and counts over a cell.

    `clusters` names the cluster of each question, where intervals are to draw whole ones.
    """
    return {named.name: _aggregated(records, named, seed, clusters) for named in metrics}


def spread(records: Sequence[RecordLine]) -> dict[str, SpreadLine]:
    """Return how much each metric varies between samples; empty where there is one a question.

    The deviation is that of a sample, with n - 1 below the line, over those that are scored.
    """
    found: dict[str, list[float]] = {}
    for record in records:
        for name in record.scores if record.samples else ():
            values = [sample.scores[name].value for sample in record.samples]
            scored = [value for value in values if value is not None]
            if len(scored) > 1:
                found.setdefault(name, []).append(stdev(scored))
    return {name: SpreadLine(deviation=fmean(each), n=len(each)) for name, each in found.items()}


def described(metrics: Sequence[Named], labels: Label) -> dict[str, MetricLine]:
    """Return what each metric is, in full; `labels` is the run's."""
    return {named.name: _described(named.metric, labels) for named in metrics}


def models(metrics: Sequence[Named]) -> list[dict[str, Any]]:
    """Return the identity of each model that a metric scores with."""
    found: list[dict[str, Any]] = portable(
        [
            {"used_by": each.metric.name, **each.metric.identity()}
            for each in metrics
            if hasattr(each.metric, "identity")
        ]
    )
    return found


def mean_seconds(records: Sequence[RecordLine]) -> dict[str, float]:
    """Return the mean seconds a question took at each stage, over those that reached it."""
    stages = dict.fromkeys(stage for record in records for stage in record.seconds)
    spent = {
        stage: [record.seconds[stage] for record in records if stage in record.seconds]
        for stage in stages
    }
    return {str(stage): sum(each) / len(each) for stage, each in spent.items()}


def _aggregated(
    records: Sequence[RecordLine], named: Named, seed: int, clusters: Mapping[str, str] | None
) -> AggregateLine:
    scores = [score(record.scores[named.name]) for record in records]
    groups = None if clusters is None else [clusters[record.question] for record in records]
    total = total_of(named.metric)
    return AggregateLine(**asdict(aggregate(scores, seed, total, clusters=groups)))


def _described(metric: Metric, labels: Label) -> MetricLine:
    return MetricLine(
        spec=label(metric),
        version=metric.version,
        kind=metric.kind,
        labels=label_of(metric),
        own_chunks=own_chunks(metric, labels),
        within_chunker=within_chunker(metric, labels),
        about=description(type(metric)),
    )
