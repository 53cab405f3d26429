"""Upper bound of better retrieval: a cell against its generator with gold or no context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from harness.metrics.named_metrics import stored_total
from harness.records import Score
from harness.report.potential_scores import RIGHT, PotentialPair, PotentialScores, build_pair
from harness.report.run_view import View
from harness.runs.oracle.oracle_file import read_records
from harness.runs.oracle.oracle_scores import read_answer_test
from harness.stats.aggregate_scores import Aggregate, aggregate
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.differences import estimate_differences
from harness.stats.paired_units import PairedScores
from harness.stats.whole_sets import Total
from harness.store.cell_results import CellResult
from harness.store.run_file import OracleOutcome


@dataclass(frozen=True)
class MeasureRow:
    """One measure over the questions that were asked with their evidence.

    `gain` is by how much perfect retrieval is above the cell, `retrieved` by how much the cell is
    above no retrieval; that is asked of the first measure alone. `finished` are the means of the
    cell and of perfect retrieval that `gain` is the difference of: over the questions that both
    finished.
    """

    name: str
    nothing: Aggregate
    cell: Aggregate
    best: Aggregate | None
    evidence: Aggregate
    gain: DifferenceEstimate
    finished: tuple[float | None, float | None]
    retrieved: DifferenceEstimate | None


@dataclass(frozen=True)
class Potential:
    """One generator: what it comes to in `cell`, and without retrieval or with a perfect one.

    `cell` is the one to ship where it has this generator, else its best; `best` is that, where it
    is another one. `family` counts the tests of all generators. `asked` of `askable` questions were
    asked with their evidence: a run that was ended early has asked fewer. `remembered` are the
    questions answered right from nothing, and `wrong` those of `tested` that are not answered right
    even from all evidence; both by their ids. Calls that failed tested nothing. `declined` of those
    asked with their evidence were declined.
    """

    generator: str
    cell: CellResult
    best: CellResult | None
    rows: Sequence[MeasureRow]
    family: int
    asked: int
    askable: int
    remembered: Sequence[str]
    wrong: Sequence[str]
    tested: int
    declined: int


_potentials_by_view: WeakKeyDictionary[View, list[Potential]] = WeakKeyDictionary()


def potentials(view: View) -> list[Potential]:
    """Return what each generator of a run could come to; none where the oracle was not asked."""
    if not view.run.oracle:
        return []
    if view not in _potentials_by_view:
        _potentials_by_view[view] = _compute_potentials(view)
    return _potentials_by_view[view]


def _compute_potentials(view: View) -> list[Potential]:
    records, test = read_records(view.stored), read_answer_test(view.run)
    records_by_generator: dict[str, list[OracleOutcome]] = {}
    for record in records:
        records_by_generator.setdefault(record.generator, []).append(record)
    candidates = [
        build_pair(view, name, generator_records, test)
        for name, generator_records in records_by_generator.items()
    ]
    generator_pairs = [
        generator_pair for generator_pair in candidates if generator_pair is not None
    ]
    generator_pairs.sort(key=lambda generator_pair: generator_pair.cell is not view.focus)
    pairs = [
        _pair(view, generator_pair, name, one, other)
        for generator_pair in generator_pairs
        for name, one, other in generator_pair.compared
    ]
    differences = iter(estimate_differences(pairs, view.run.provenance.seed))
    return [
        _potential(
            view,
            generator_pair,
            lambda: next(differences),
            records_by_generator[generator_pair.generator],
        )
        for generator_pair in generator_pairs
    ]


def _total(view: View, name: str) -> Total | None:
    about = view.run.provenance.metrics
    return None if name == RIGHT else stored_total(about[name])


def _pair(
    view: View, pair: PotentialPair, name: str, one: PotentialScores, other: PotentialScores
) -> PairedScores:
    """Return one measure of two sides on the questions that both finished."""
    left, right = one.scores_of(name, pair.ids), other.scores_of(name, pair.ids)
    both = [
        index for index in range(len(left)) if _is_scored(left[index]) and _is_scored(right[index])
    ]
    alone = sum(
        _is_scored(left_score) != _is_scored(right_score)
        for left_score, right_score in zip(left, right, strict=True)
    )
    clusters = view.stored.clusters
    groups = None
    if clusters is not None:
        places = {name: index for index, name in enumerate(dict.fromkeys(clusters.values()))}
        groups = np.array([places[clusters[pair.ids[index]]] for index in both], dtype=np.int64)
    values = [
        np.array([_value(scores[index]) for index in both], np.float64) for scores in (left, right)
    ]
    order = {id_: number for number, id_ in enumerate(view.stored.questions)}
    numbers = np.array([order[pair.ids[index]] for index in both], dtype=np.int64)
    return PairedScores(values[0], values[1], _total(view, name), groups, alone, numbers)


def _is_scored(score: Score) -> bool:
    return score.state == "scored"


def _value(score: Score) -> float | Sequence[float] | None:
    return score.counts or score.value


def _potential(
    view: View,
    pair: PotentialPair,
    following: Callable[[], DifferenceEstimate],
    records: Sequence[OracleOutcome],
) -> Potential:
    rows = [
        MeasureRow(
            name,
            _mean(view, pair, name, pair.nothing),
            _mean(view, pair, name, pair.here),
            None if pair.highest is None else _mean(view, pair, name, pair.highest),
            _mean(view, pair, name, pair.evidence),
            following(),
            _finished(view, pair, name),
            following() if index == 0 else None,
        )
        for index, name in enumerate(pair.names)
    ]
    tested_records = [
        record
        for record in records
        if record.given == "evidence" and record.answered is not None and record.error is None
    ]
    return Potential(
        generator=pair.generator,
        cell=pair.cell,
        best=pair.best,
        rows=[row for row in rows if row.evidence.n],
        family=rows[0].gain.family if rows else 0,
        asked=len(pair.ids),
        askable=sum(
            question.answerable and bool(question.passages)
            for question in view.stored.questions.values()
        ),
        remembered=[
            record.question for record in records if record.given == "nothing" and record.answered
        ],
        wrong=[record.question for record in tested_records if not record.answered],
        tested=len(tested_records),
        declined=sum(
            record.given == "evidence" and bool(record.declined) and record.question in pair.ids
            for record in records
        ),
    )


def _finished(view: View, pair: PotentialPair, name: str) -> tuple[float | None, float | None]:
    """Return the means of the cell and of perfect retrieval over what both finished."""
    pairs = zip(
        pair.here.scores_of(name, pair.ids), pair.evidence.scores_of(name, pair.ids), strict=True
    )
    both = [
        (retrieved, perfect)
        for retrieved, perfect in pairs
        if _is_scored(retrieved) and _is_scored(perfect)
    ]
    total = _total(view, name)
    retrieved, perfect = (
        aggregate([scores[side] for scores in both], total).mean for side in (0, 1)
    )
    return retrieved, perfect


def _mean(view: View, pair: PotentialPair, name: str, side: PotentialScores) -> Aggregate:
    clusters = view.stored.clusters
    groups = None if clusters is None else [clusters[id_] for id_ in pair.ids]
    return aggregate(side.scores_of(name, pair.ids), _total(view, name), groups)
