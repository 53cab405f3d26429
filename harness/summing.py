"""One cell's records to its line of `run.json`; of each only what that is made of is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from harness import spending, summarise
from harness.asked_models import of_cell
from harness.kept import Measured
from harness.lengths import lengths
from harness.losses import losses
from harness.prepared import Prepared
from harness.stages import Stages
from harness.stored import (
    CellLine,
    IndexRecallLine,
    MatchedLine,
    PricesLine,
    RecordLine,
    SampleLine,
    ScoreLine,
)
from harness.sweep import Cell, SystemCell


class Briefly:
    """Makes records brief: without hits, texts and judgements, which nothing sums up.

    Equal scores become one and the same, since many questions score alike. `touching` is kept
    where it is asked for: the ceilings of a chunker are made of it.
    """

    def __init__(self, touching: bool = False) -> None:
        self._touching = touching
        self._scores: dict[tuple[object, ...], ScoreLine] = {}

    def __call__(self, record: RecordLine) -> RecordLine:
        """Return a record with what is summed up, and nothing of any length."""
        short = {
            "hits": [],
            "candidates": [],
            "searched": [],
            "context": None,
            "answer": None if record.answer is None else "",
            "prompt": None,
            "samples": list(map(self._sample, record.samples)),
            "judged": {},
            "keywords": [],
            "touching": record.touching if self._touching else None,
            "scores": self._once(record.scores),
            "missed": [],
            "held_in": None,
        }
        return record.model_copy(update=short)

    def _sample(self, sample: SampleLine) -> SampleLine:
        answer = None if sample.answer is None else ""
        return sample.model_copy(update={"answer": answer, "scores": self._once(sample.scores)})

    def _once(self, scores: Mapping[str, ScoreLine]) -> dict[str, ScoreLine]:
        found = {}
        for name, line in scores.items():
            key = (line.value, line.state, *line.counts)
            if key not in self._scores:
                bare = ScoreLine(value=line.value, state=line.state, counts=line.counts)
                self._scores[key] = bare
            found[name] = self._scores[key]
        return found


def cell_line(
    cell: Cell | SystemCell,
    records: Sequence[RecordLine],
    stages: Stages,
    prepared: Prepared,
    prices: PricesLine | None,
    measured: Measured | None,
) -> CellLine:
    """Return what a cell came to; brief records are enough, and `measured` is of its index."""
    labels = cell.labels()
    plan, questions = prepared.plan, prepared.testset.questions
    own = cell if isinstance(cell, Cell) else None
    chunks = None if own is None else stages.chunks(own.chunker)
    recall = None if measured is None else measured.recall
    return CellLine(
        name=cell.name,
        chunker=str(labels["chunker"]),
        embedder=labels["embedder"],
        retriever=str(labels["retriever"]),
        reranker=str(labels["reranker"]),
        generator=str(labels["generator"]),
        fingerprint=stages.identity(cell),
        chunks=0 if chunks is None else len(chunks),
        lengths=None if chunks is None else lengths(chunks.lengths),
        index_recall=None if recall is None else IndexRecallLine(**asdict(recall)),
        floor=own is not None and own.embedder is not None and own.embedder.floor,
        copies=own is not None and own.generator.copies,
        asked=len(records),
        answered=sum(record.answer is not None for record in records),
        declined=sum(bool(record.declined) for record in records),
        failed=sum(record.error is not None for record in records),
        seconds=summarise.mean_seconds(records),
        scores=summarise.aggregated(records, plan.metrics, plan.settings.seed, prepared.clusters),
        matched=_matched(stages, cell),
        spread=summarise.spread(records),
        spent=spending.spent(records, *of_cell(cell), prices, own is None),
        losses=losses(records, {each.id: each for each in questions}),
    )


def _matched(stages: Stages, cell: Cell | SystemCell) -> MatchedLine | None:
    found = asdict(stages.matched(cell))
    del found["example"]
    return MatchedLine(**found) if found["contexts"] else None
