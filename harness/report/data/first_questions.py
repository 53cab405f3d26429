"""Chooses the ten questions to read first: the worst of the best cell, for each kind of loss."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest

import numpy as np

from harness.records import Outcome
from harness.report.data.page_records import STAGES
from harness.report.run_view import View
from harness.store.frame import LOST, UNKNOWN, Codes
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
    goodness = dict(zip(places.tolist(), _goodness(view, places), strict=True))
    ranked = sorted(goodness, key=goodness.__getitem__)
    by_stage: dict[str | None, list[int]] = defaultdict(list)
    for place in ranked:
        code = columns.lost[place]
        lost_at = None if code == UNKNOWN else LOST[code]
        by_stage[_FAILED if columns.failed[place] else lost_at].append(place)
    losing = [by_stage[stage] for stage in (_FAILED, *STAGES[1:])]
    in_turn = [
        question_place
        for one_of_each in zip_longest(*losing)
        for question_place in one_of_each
        if question_place is not None
    ]
    lost = set(in_turn)
    chosen = [*in_turn, *(place for place in ranked if place not in lost)][:_MAX_QUESTIONS]
    return list(view.stored.records_at(np.array(chosen, dtype=np.int64)))


def _goodness(view: View, places: Codes) -> list[tuple[float, float]]:
    value, about = view.stored.frame.value, view.run.provenance.metrics
    quality = [value[name][places] for name in about if about[name].kind == "quality"]
    table = np.array([value[view.by][places], *quality]).T
    return [_goodness_of(*row) for row in table.tolist()]


def _goodness_of(decided: float, *quality: float) -> tuple[float, float]:
    values = [value for value in quality if value == value]  # nan where there is none
    others = sum(values) / len(values) if values else 0.0
    return (decided if decided == decided else -1.0), others
