"""Aggregates a cell's records: means, intervals, spread, seconds, and where answers were lost.

Losses are counted over questions and over groups of passages. A group is the passages of a question
that say the same: any one of them will do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.config.grid import Cell, SystemCell
from harness.config.resolved import models_of_cell
from harness.files.paths import make_portable
from harness.metrics import Metric
from harness.metrics.named_metrics import (
    NamedMetric,
    counts_own_chunks,
    is_chunker_specific,
    label_of,
    stored_kind,
    total_of,
)
from harness.records import Label, LostAt, Question
from harness.registry import description, label, spec_name
from harness.runs.artefacts import Artefacts
from harness.runs.result_tables import IndexFacts
from harness.runs.run_inputs import RunInputs
from harness.stats.aggregate_scores import Aggregate, aggregate
from harness.stats.intervals import wilson
from harness.store import expenses
from harness.store.cell_results import (
    CellResult,
    ChunkLengths,
    LossCounts,
    MatchedContexts,
    SampleSpread,
    Share,
)
from harness.store.frame import GROUP_STAGES, LOST, STAGES, UNKNOWN, Frame
from harness.store.run_file import MetricDescription, PriceList

QUESTION_STAGES: Sequence[LostAt] = (
    "chunking", "index", "retrieval", "reranking", "context", "generation",
)  # fmt: skip
"""Where a question can be lost, in this order."""


def count_losses(frame: Frame, questions: Sequence[Question]) -> LossCounts | None:
    """Return where the answers of these outcomes were lost; None where none has evidence.

    `questions` are those of the run. Each outcome is counted once: among those attributed, or as
    one of the reasons why it is not.
    """
    asked = [questions[number] for number in frame.question.tolist()]
    answerable = np.array([question.answerable for question in asked], dtype=bool)
    labelled = answerable & np.array([bool(question.passages) for question in asked], dtype=bool)
    finished = labelled & ~frame.failed
    traced = finished & (frame.lost != UNKNOWN)
    untold = finished & ~traced & (frame.groups.sum(axis=1) == 0)
    failed = labelled & frame.failed
    if not (traced | failed | (finished & ~traced)).any():
        return None
    lost_at = Counter(LOST[code] for code in frame.lost[traced].tolist())
    groups = frame.groups[traced].sum(axis=0).tolist()
    return LossCounts(
        questions={
            stage: share_of(lost_at[stage], lost_at.total()) for stage in (*QUESTION_STAGES, "none")
        },
        groups={
            stage: share_of(count, sum(groups))
            for stage, count in zip(GROUP_STAGES, groups, strict=False)
        },
        without_evidence=int(frame.without_evidence[traced].sum()),
        unknown=int((finished & ~traced & ~untold).sum()),
        failed=int(failed.sum()),
        unanswerable=int((~answerable).sum()),
        unlabelled=int((answerable & ~labelled).sum()),
        untold=int(untold.sum()),
    )


def share_of(count: int, of: int) -> Share:
    """Return how many of how many, with the 95 % Wilson interval of the share."""
    if not of:
        return Share(count=count, of=of, low=None, high=None)
    ends = wilson(count / of, of)
    return Share(count=count, of=of, low=ends.low, high=ends.high)


def gives_answers(cell: CellResult, frame: Frame) -> bool:
    """Return whether a cell, whose outcomes these are, gives answers.

    A system of the user's own has no parts that are known: its outcomes say so.
    """
    whole = cell.retriever == "none"
    return (whole or cell.generator != "none") and bool(frame.gives_answers.any())


def separable_stages(cell: CellResult, lost: LossCounts, answering: bool) -> list[LostAt]:
    """Return the stages that a cell has and that can be distinguished from their neighbours.

    Of a system of the user's own neither chunks nor index are known. A search that compares all
    vectors, or has none, loses nothing to an index; a stage that lost something is always there.
    `answering`: it gives answers, which can be lost at generation.
    """
    external = cell.retriever == "none"
    present = {
        "chunking": not external,
        "index": cell.index_recall is not None,
        "reranking": cell.reranker != "none",
        "generation": answering,
    }
    counted = (*lost.questions.items(), *lost.groups.items())
    seen = {stage for stage, line in counted if line.count}
    return [stage for stage in QUESTION_STAGES if present.get(stage, True) or stage in seen]


def aggregate_metrics(
    frame: Frame, metrics: Sequence[NamedMetric], clusters: Sequence[str] | None = None
) -> dict[str, Aggregate]:
    """Return each metric's mean, interval and counts over a cell, whose outcomes these are.

    `clusters` names the cluster of each question, where intervals are to draw whole ones.
    """
    return {
        named.name: aggregate(frame.scores(named.name), total_of(named.metric), clusters)
        for named in metrics
    }


def clusters_of(frame: Frame, questions: Sequence[Question]) -> list[str] | None:
    """Return the cluster of each outcome, None where none were drawn; `questions` are the run's."""
    names = [questions[number].cluster for number in frame.question.tolist()]
    return [name for name in names if name] or None


def measure_spread(frame: Frame) -> dict[str, SampleSpread]:
    """Return how much each metric varies between samples; empty where there is one a question.

    The deviation is that of a sample, with n - 1 below the line, over those that are scored.
    """
    spreads: dict[str, SampleSpread] = {}
    for name, column in frame.deviation.items():
        known = column[~np.isnan(column)]
        if len(known):
            spreads[name] = SampleSpread(deviation=fmean(known.tolist()), n=len(known))
    return spreads


def describe_metrics(metrics: Sequence[NamedMetric], labels: Label) -> dict[str, MetricDescription]:
    """Return what each metric is, in full; `labels` is the run's."""
    return {named.name: _describe_metric(named.metric, labels) for named in metrics}


def metric_models(metrics: Sequence[NamedMetric]) -> list[dict[str, Any]]:
    """Return the identity of each model that a metric scores with."""
    identities: list[dict[str, Any]] = make_portable(
        [
            {"used_by": spec_name(named.metric), **named.metric.identity()}
            for named in metrics
            if hasattr(named.metric, "identity")
        ]
    )
    return identities


def mean_seconds(frame: Frame) -> dict[str, float]:
    """Return the mean seconds a question took at each stage, over those that reached it."""
    means: dict[str, float] = {}
    for stage, column in zip(STAGES, frame.seconds.T, strict=True):
        known = column[~np.isnan(column)].tolist()
        if known:
            means[stage] = sum(known) / len(known)
    return means


def _describe_metric(metric: Metric, labels: Label) -> MetricDescription:
    return MetricDescription(
        spec=label(metric),
        version=metric.version,
        kind=stored_kind(metric),
        labels=label_of(metric),
        own_chunks=counts_own_chunks(metric, labels),
        within_chunker=is_chunker_specific(metric, labels),
        about=description(type(metric)),
    )


def sum_up_cell(
    cell: Cell | SystemCell,
    frame: Frame,
    artefacts: Artefacts,
    prepared: RunInputs,
    prices: PriceList | None,
    measured: IndexFacts | None,
) -> CellResult:
    """Return what a cell came to; `frame` has its outcomes, and `measured` is of its index."""
    labels = cell.labels()
    plan, questions = prepared.plan, prepared.testset.questions
    grid_cell = cell if isinstance(cell, Cell) else None
    chunks = None if grid_cell is None else artefacts.chunks(grid_cell.chunker)
    ids = [questions[number].id for number in frame.question.tolist()]
    clusters = None if prepared.clusters is None else [prepared.clusters[id_] for id_ in ids]
    everything = np.arange(len(frame))
    return CellResult(
        name=cell.name,
        chunker=str(labels["chunker"]),
        embedder=labels["embedder"],
        retriever=str(labels["retriever"]),
        reranker=str(labels["reranker"]),
        generator=str(labels["generator"]),
        fingerprint=artefacts.identity(cell),
        chunks=0 if chunks is None else len(chunks),
        lengths=None if chunks is None else length_histogram(chunks.lengths),
        index_recall=None if measured is None else measured.recall,
        floor=grid_cell is not None and grid_cell.embedder is not None and grid_cell.embedder.floor,
        copies=grid_cell is not None and grid_cell.generator.copies,
        asked=len(frame),
        answered=int(frame.answered.sum()),
        declined=int(frame.declined.sum()),
        failed=int(frame.failed.sum()),
        seconds=mean_seconds(frame),
        scores=aggregate_metrics(frame, plan.metrics, clusters),
        matched=_matched_contexts(artefacts, cell),
        spread=measure_spread(frame),
        spent=expenses.sum_spent(
            frame.usages(everything),
            int(frame.calls.sum()),
            *models_of_cell(cell),
            prices,
            grid_cell is None,
        ),
        losses=count_losses(frame, questions),
    )


def _matched_contexts(artefacts: Artefacts, cell: Cell | SystemCell) -> MatchedContexts | None:
    counts = asdict(artefacts.match_counts(cell))
    del counts["example"]
    return MatchedContexts(**counts) if counts["contexts"] else None


_BINS = 20


_STEP = 10


def length_histogram(characters: NDArray[np.int64]) -> ChunkLengths:
    """Return what a histogram of lengths in characters needs: there must be one at least.

    There are 20 bins of equal width, from 0 to the longest; the width is rounded up to tens.
    """
    longest = int(characters.max())
    width = max(1, -(-longest // (_BINS * _STEP))) * _STEP
    # The longest itself may stand at the upper end of the last bin.
    bins = np.minimum(characters // width, _BINS - 1)
    return ChunkLengths(
        chunks=len(characters),
        median=float(np.median(characters)),
        shortest=int(characters.min()),
        longest=longest,
        bins=tuple(np.bincount(bins, minlength=_BINS).tolist()),
        width=width,
    )
