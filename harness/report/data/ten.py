"""The ten questions to read first: where the cell to ship did worst, of each kind of loss."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest

import numpy as np

from harness.columns import LOST, UNKNOWN, Codes
from harness.columns import STATES as SCORED
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
    columns, places = view.stored.columns, view.places(cell)
    places = places[columns.state[view.by][places] != SCORED.index("not_scored")]
    goodness = dict(zip(places.tolist(), _goodness(view, places), strict=True))
    ranked = sorted(goodness, key=goodness.__getitem__)
    by_stage: dict[str | None, list[int]] = defaultdict(list)
    for place in ranked:
        at = columns.lost[place]
        lost_at = None if at == UNKNOWN else LOST[at]
        by_stage[_FAILED if columns.failed[place] else lost_at].append(place)
    losing = [by_stage[stage] for stage in (_FAILED, *STAGES[1:])]
    in_turn = [each for some in zip_longest(*losing) for each in some if each is not None]
    lost = set(in_turn)
    chosen = [*in_turn, *(place for place in ranked if place not in lost)][:_SHOWN]
    return list(view.stored.some(np.array(chosen, dtype=np.int64)))


def _goodness(view: View, places: Codes) -> list[tuple[float, float]]:
    value, about = view.stored.columns.value, view.run.provenance.metrics
    quality = [value[name][places] for name in about if about[name].kind == "quality"]
    table = np.array([value[view.by][places], *quality]).T
    return [_good(*row) for row in table.tolist()]


def _good(decided: float, *quality: float) -> tuple[float, float]:
    values = [value for value in quality if value == value]  # nan where there is none
    others = sum(values) / len(values) if values else 0.0
    return (decided if decided == decided else -1.0), others
