"""Upper bound of better retrieval: a cell against its generator with gold or no context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.metrics.named_metrics import stored_total
from harness.records import Answer, Case, Score, not_scored
from harness.runs.oracle.oracle_scores import (
    DECLINE_METRICS,
    is_right,
    read_answer_test,
    read_records,
)
from harness.stats.aggregate_scores import Aggregate, Total, aggregate
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.differences import estimate_differences
from harness.stats.paired_units import PairedScores
from harness.store.cell_results import CellResult
from harness.store.reader import StoredRun
from harness.store.run_file import OracleOutcome

RIGHT = "answered right"
"""What the share of answers that pass the answer test is called, beside the metrics."""
_NOT_ASKED = not_scored("it was not asked")
Scores = Mapping[str, Mapping[str, Score]]
"""The scores of one side, by measure and question."""


@dataclass(frozen=True)
class MeasureRow:
    """One measure over the questions that were asked with their evidence.

    `gain` is by how much perfect retrieval is above the cell, `retrieved` by how much the cell is
    above no retrieval; that is asked of the first measure alone. `finished` are the means of the
    cell and of perfect retrieval over the questions that both finished.
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


@dataclass(frozen=True)
class _Generator:
    """The records of one generator, and the scores of all sides that are compared over `ids`."""

    records: Sequence[OracleOutcome]
    cell: CellResult
    best: CellResult | None
    ids: Sequence[str]
    names: Sequence[str]
    nothing: Scores
    here: Scores
    highest: Scores | None
    evidence: Scores


def compute_potentials(
    stored: StoredRun, cells: Sequence[CellResult], shipped: CellResult | None
) -> list[Potential]:
    """Return what each generator of a run could come to; none where the oracle was not asked.

    `cells` are in the order of their means; the generator of the `shipped` one comes first.
    """
    by_generator: dict[str, list[OracleOutcome]] = {}
    for record in read_records(stored):
        by_generator.setdefault(record.generator, []).append(record)
    generators = [
        _build(stored, own_cells, shipped, records)
        for name, records in by_generator.items()
        if (own_cells := [cell for cell in cells if cell.generator == name])
    ]
    first = shipped or next((cell for cell in cells if not cell.floor), None)
    generators.sort(key=lambda generator: generator.cell is not first)
    pairs: list[PairedScores] = []
    for generator in generators:
        for index, name in enumerate(generator.names):
            pairs.append(_pair(stored, generator.ids, name, generator.evidence, generator.here))
            if index == 0:
                pairs.append(_pair(stored, generator.ids, name, generator.here, generator.nothing))
    compared = zip(pairs, estimate_differences(pairs, stored.run.provenance.seed), strict=True)
    return [_potential(stored, generator, compared) for generator in generators]


def _build(
    stored: StoredRun,
    cells: Sequence[CellResult],
    shipped: CellResult | None,
    records: Sequence[OracleOutcome],
) -> _Generator:
    best = next((cell for cell in cells if not cell.floor), cells[0])
    cell = next((cell for cell in cells if cell is shipped), best)
    questions = list(stored.questions)
    numbers = stored.frame.question[stored.places(cell.name)].tolist()
    asked = {questions[number] for number in numbers}
    names = _measure_names(stored, records)
    evidence = [record for record in records if record.given == "evidence"]
    return _Generator(
        records=records,
        cell=cell,
        best=None if best is cell else best,
        ids=[r.question for r in evidence if r.context is not None and r.question in asked],
        names=names,
        nothing=_oracle_scores([r for r in records if r.given == "nothing"], names),
        here=_cell_scores(stored, cell, names),
        highest=None if best is cell else _cell_scores(stored, best, names),
        evidence=_oracle_scores(evidence, names),
    )


def _measure_names(stored: StoredRun, records: Sequence[OracleOutcome]) -> list[str]:
    """Return what is compared: the deciding metric first if it is of answers, then right ones."""
    about, by = stored.run.provenance.metrics, stored.run.decide_by
    names = [
        name
        for name in about
        if name in records[0].scores
        and about[name].kind != "descriptive"
        and name.partition("(")[0] not in DECLINE_METRICS
    ]
    tested = [RIGHT] if any(record.answered is not None for record in records) else []
    deciding = [name for name in names if name == by]
    return [*deciding, *tested, *(name for name in names if name != by)]


def _oracle_scores(records: Sequence[OracleOutcome], names: Sequence[str]) -> Scores:
    right = {r.question: _right_score(r.answered, r.error is not None) for r in records}
    return {
        name: right if name == RIGHT else {r.question: r.scores[name] for r in records}
        for name in names
    }


def _cell_scores(stored: StoredRun, cell: CellResult, names: Sequence[str]) -> Scores:
    test = read_answer_test(stored.run)
    scores: dict[str, dict[str, Score]] = {name: {} for name in names}
    for record in stored.records_of([cell.name]):
        text = record.answer
        answer = None if text is None else Answer(text, bool(record.declined))
        for name in names:
            if name == RIGHT:
                passed = is_right(test, Case(stored.questions[record.question], answer=answer))
                score = _right_score(passed, record.error is not None)
            else:
                score = record.scores[name]
            scores[name][record.question] = score
    return scores


def _right_score(passed: bool | None, failed: bool) -> Score:
    if passed is None:
        return not_scored("nothing says what a right answer is")
    return Score(None, "it failed", "failed") if failed else Score(float(passed))


def _pair(
    stored: StoredRun, ids: Sequence[str], name: str, left: Scores, right: Scores
) -> PairedScores:
    """Return one measure of two sides on the questions that both finished."""
    sides = [[side[name].get(id_, _NOT_ASKED) for side in (left, right)] for id_ in ids]
    scored = [sum(score.state == "scored" for score in scores) for scores in sides]
    both = [place for place, count in enumerate(scored) if count == 2]
    left_values, right_values = (
        np.array([sides[place][side].counts or sides[place][side].value for place in both], float)
        for side in (0, 1)
    )
    groups = None
    if clusters := stored.clusters:
        places = {cluster: place for place, cluster in enumerate(dict.fromkeys(clusters.values()))}
        groups = np.array([places[clusters[ids[place]]] for place in both], dtype=np.int64)
    order = {id_: number for number, id_ in enumerate(stored.questions)}
    questions = np.array([order[ids[place]] for place in both], dtype=np.int64)
    return PairedScores(
        left_values, right_values, _total(stored, name), groups, scored.count(1), questions
    )


def _total(stored: StoredRun, name: str) -> Total | None:
    return None if name == RIGHT else stored_total(stored.run.provenance.metrics[name])


def _potential(
    stored: StoredRun, of: _Generator, compared: Iterator[tuple[PairedScores, DifferenceEstimate]]
) -> Potential:
    clusters = stored.clusters
    groups = None if clusters is None else [clusters[id_] for id_ in of.ids]
    rows: list[MeasureRow] = []
    for index, name in enumerate(of.names):
        total = _total(stored, name)
        nothing, here, highest, evidence = (
            None
            if side is None
            else aggregate([side[name].get(id_, _NOT_ASKED) for id_ in of.ids], total, groups)
            for side in (of.nothing, of.here, of.highest, of.evidence)
        )
        assert nothing is not None
        assert here is not None
        assert evidence is not None
        pair, gain = next(compared)
        finished = _mean(pair.right, total), _mean(pair.left, total)
        retrieved = next(compared)[1] if index == 0 else None
        rows.append(MeasureRow(name, nothing, here, highest, evidence, gain, finished, retrieved))
    given_evidence = [record for record in of.records if record.given == "evidence"]
    tested = [r for r in given_evidence if r.answered is not None and r.error is None]
    return Potential(
        generator=of.cell.generator,
        cell=of.cell,
        best=of.best,
        rows=[row for row in rows if row.evidence.n],
        family=rows[0].gain.family if rows else 0,
        asked=len(of.ids),
        askable=sum(
            question.answerable and bool(question.passages)
            for question in stored.questions.values()
        ),
        remembered=[r.question for r in of.records if r.given == "nothing" and r.answered],
        wrong=[record.question for record in tested if not record.answered],
        tested=len(tested),
        declined=sum(bool(r.declined) and r.question in of.ids for r in given_evidence),
    )


def _mean(values: NDArray[np.float64], total: Total | None) -> float | None:
    if not len(values):
        return None
    return float(values.mean()) if total is None else total(values.sum(axis=0).tolist())
