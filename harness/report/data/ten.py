"""The ten questions to read first: where the cell to ship did worst, of each kind of loss."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest

from harness.report.data.records import STAGES
from harness.report.view import View
from harness.stored import RecordLine

_SHOWN = 10
_FAILED = "failed"


def to_read(view: View) -> list[RecordLine]:
    """Return at most ten records of the cell to ship, the worst of each stage in turn.

    Worse is lower by the deciding metric, then by the mean of the other quality metrics. Questions
    that failed come first; those that no stage lost only where there are no ten others.
    """
    cell = view.focus
    if cell is None:
        return []
    records = [r for r in view.records(cell) if r.scores[view.by].state != "not_scored"]
    ranked = sorted(records, key=lambda record: _goodness(view, record))
    by_stage: dict[str | None, list[RecordLine]] = defaultdict(list)
    for record in ranked:
        by_stage[_FAILED if record.error else record.lost_at].append(record)
    losing = [by_stage[stage] for stage in (_FAILED, *STAGES[1:])]
    in_turn = [each for some in zip_longest(*losing) for each in some if each is not None]
    lost = {record.question for record in in_turn}
    return [*in_turn, *(r for r in ranked if r.question not in lost)][:_SHOWN]


def _goodness(view: View, record: RecordLine) -> tuple[float, float]:
    decided = record.scores[view.by].value
    values = [
        score.value
        for name, score in record.scores.items()
        if score.value is not None and view.run.provenance.metrics[name].kind == "quality"
    ]
    others = sum(values) / len(values) if values else 0.0
    return (-1.0 if decided is None else decided), others
