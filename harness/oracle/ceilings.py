"""What a chunker allows, whatever is retrieved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from harness.metrics import Single, metrics
from harness.records import Case, Question, Score, Span
from harness.statistics.aggregate import aggregate
from harness.stored import AggregateLine, CeilingLine, RecordLine


def ceiling(
    chunker: str,
    records: Sequence[RecordLine],
    questions: Mapping[str, Question],
    k: int,
    seed: int,
    clusters: Mapping[str, str] | None = None,
) -> CeilingLine:
    """Return the ceilings of the chunker of one cell, whose records these are, at `k` chunks.

    With a `parent` they are those of the chunks that are handed over.
    """
    cases = [_case(each, questions[each.question]) for each in records]
    groups = None if clusters is None else [clusters[each.question] for each in records]
    found = {spec: _aggregate(spec, cases, seed, groups) for spec in _specs(k)}
    of_recall, of_chunks = found.values()
    return CeilingLine(chunker=chunker, k=k, evidence_recall=of_recall, chunk_ceiling=of_chunks)


def _specs(k: int) -> tuple[str, str]:
    return f"evidence_ceiling@{k}", "chunk_ceiling"


def _case(record: RecordLine, question: Question) -> Case:
    near = record.touching
    return Case(question, touching=None if near is None else tuple(Span(*each) for each in near))


def _aggregate(
    spec: str, cases: Sequence[Case], seed: int, clusters: Sequence[str] | None
) -> AggregateLine:
    metric = metrics.build(spec)
    assert isinstance(metric, Single)
    scores: list[Score] = [metric.score(case) for case in cases]
    return AggregateLine(**asdict(aggregate(scores, seed, clusters=clusters)))
