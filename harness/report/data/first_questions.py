"""Chooses the ten questions to read first: the worst of the best cell, for each kind of loss."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest

import numpy as np

from harness.records import Outcome
from harness.report.data.page_records import STAGES
from harness.report.run_view import View
from harness.store.frame import LOST, UNKNOWN
from harness.store.frame import STATES as SCORED

_MAX_QUESTIONS = 10
_FAILED = "failed"


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
