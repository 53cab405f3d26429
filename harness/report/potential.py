"""What better retrieval could buy: a cell beside its generator with all evidence, and with none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from harness.metrics import metrics
from harness.oracle.file import read
from harness.oracle.scored import tested_by
from harness.records import Score
from harness.report.potentialsides import RIGHT, Side, Sides, sides
from harness.report.view import View
from harness.scoring import total_of
from harness.statistics.aggregate import Aggregate, Total, aggregate
from harness.statistics.differences import Difference, Pair, compare
from harness.stored import CellLine, OracleRecordLine


@dataclass(frozen=True)
class Row:
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
    gain: Difference
    finished: tuple[float | None, float | None]
    retrieved: Difference | None


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
    cell: CellLine
    best: CellLine | None
    rows: Sequence[Row]
    family: int
    asked: int
    askable: int
    remembered: Sequence[str]
    wrong: Sequence[str]
    tested: int
    declined: int


_found: WeakKeyDictionary[View, list[Potential]] = WeakKeyDictionary()


def potentials(view: View) -> list[Potential]:
    """Return what each generator of a run could come to; none where the oracle was not asked."""
    if not view.run.oracle:
        return []
    if view not in _found:
        _found[view] = _potentials(view)
    return _found[view]


def _potentials(view: View) -> list[Potential]:
    records, test = read(view.stored), tested_by(view.run)
    own: dict[str, list[OracleRecordLine]] = {}
    for record in records:
        own.setdefault(record.generator, []).append(record)
    found = [sides(view, name, some, test) for name, some in own.items()]
    there = [each for each in found if each is not None]
    there.sort(key=lambda each: each.cell is not view.focus)
    pairs = [
        _pair(view, each, name, one, other) for each in there for name, one, other in each.compared
    ]
    differences = iter(compare(pairs, view.run.provenance.seed))
    return [
        _potential(view, each, lambda: next(differences), own[each.generator]) for each in there
    ]


def _total(view: View, name: str) -> Total | None:
    about = view.run.provenance.metrics
    return None if name == RIGHT else total_of(metrics.build(about[name].spec))


def _pair(view: View, of: Sides, name: str, one: Side, other: Side) -> Pair:
    """Return one measure of two sides on the questions that both finished."""
    left, right = one.of(name, of.ids), other.of(name, of.ids)
    both = [at for at in range(len(left)) if _has(left[at]) and _has(right[at])]
    alone = sum(_has(each) != _has(their) for each, their in zip(left, right, strict=True))
    known = view.stored.clusters
    groups = None
    if known is not None:
        places = {name: at for at, name in enumerate(dict.fromkeys(known.values()))}
        groups = np.array([places[known[of.ids[at]]] for at in both], dtype=np.int64)
    values = [np.array([_value(some[at]) for at in both], np.float64) for some in (left, right)]
    return Pair(values[0], values[1], _total(view, name), groups, alone)


def _has(score: Score) -> bool:
    return score.state == "scored"


def _value(score: Score) -> float | Sequence[float] | None:
    return score.counts or score.value


def _potential(
    view: View,
    of: Sides,
    following: Callable[[], Difference],
    records: Sequence[OracleRecordLine],
) -> Potential:
    rows = [
        Row(
            name,
            _mean(view, of, name, of.nothing),
            _mean(view, of, name, of.here),
            None if of.highest is None else _mean(view, of, name, of.highest),
            _mean(view, of, name, of.evidence),
            following(),
            _finished(view, of, name),
            following() if at == 0 else None,
        )
        for at, name in enumerate(of.names)
    ]
    told = [
        each
        for each in records
        if each.given == "evidence" and each.answered is not None and each.error is None
    ]
    return Potential(
        generator=of.generator,
        cell=of.cell,
        best=of.best,
        rows=[row for row in rows if row.evidence.n],
        family=rows[0].gain.family if rows else 0,
        asked=len(of.ids),
        askable=sum(
            each.answerable and bool(each.passages) for each in view.stored.questions.values()
        ),
        remembered=[each.question for each in records if each.given == "nothing" and each.answered],
        wrong=[each.question for each in told if not each.answered],
        tested=len(told),
        declined=sum(
            each.given == "evidence" and bool(each.declined) and each.question in of.ids
            for each in records
        ),
    )


def _finished(view: View, of: Sides, name: str) -> tuple[float | None, float | None]:
    """Return the means of the cell and of perfect retrieval over what both finished."""
    pairs = zip(of.here.of(name, of.ids), of.evidence.of(name, of.ids), strict=True)
    both = [(here, there) for here, there in pairs if _has(here) and _has(there)]
    total = _total(view, name)
    here, there = (
        aggregate([pair[side] for pair in both], 0, total, intervals=False).mean for side in (0, 1)
    )
    return here, there


def _mean(view: View, of: Sides, name: str, side: Side) -> Aggregate:
    known = view.stored.clusters
    groups = None if known is None else [known[id_] for id_ in of.ids]
    seed = view.run.provenance.seed
    return aggregate(side.of(name, of.ids), seed, _total(view, name), clusters=groups)
