"""Scores of a cell and of the oracle run, by measure and question, for their comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from harness.config.settings import AnswerTest
from harness.records import Answer, Case, Outcome, Score, not_scored
from harness.report.run_view import View
from harness.runs.oracle.oracle_scores import DECLINE_METRICS, is_right
from harness.store.cell_results import CellResult
from harness.store.run_file import Given, OracleOutcome

RIGHT = "answered right"
"""What the share of answers that pass the answer test is called, beside the metrics."""


@dataclass(frozen=True)
class PotentialScores:
    """The scores of one side by measure and question."""

    scores: Mapping[str, Mapping[str, Score]]

    def scores_of(self, name: str, ids: Iterable[str]) -> list[Score]:
        """Return the score of each question."""
        scores_by_id = self.scores[name]
        return [scores_by_id.get(id_, not_scored("it was not asked")) for id_ in ids]


@dataclass(frozen=True)
class PotentialPair:
    """All that is compared of one generator, over `ids`."""

    generator: str
    cell: CellResult
    best: CellResult | None
    ids: Sequence[str]
    nothing: PotentialScores
    here: PotentialScores
    highest: PotentialScores | None
    evidence: PotentialScores
    names: Sequence[str]

    @property
    def compared(self) -> Iterator[tuple[str, PotentialScores, PotentialScores]]:
        """Yield each measure with the two sides to compare, in the order that rows take them."""
        for index, name in enumerate(self.names):
            yield name, self.evidence, self.here
            if index == 0:
                yield name, self.here, self.nothing


def build_pair(
    view: View, name: str, records: Sequence[OracleOutcome], test: AnswerTest
) -> PotentialPair | None:
    """Return what is compared of the generator of a name, whose records these are.

    None where the run has no cell of it.
    """
    cells = [cell for cell in view.cells if cell.generator == name]
    if not cells:
        return None
    shipped = next((cell for cell in cells if cell is view.shipped), None)
    best = next((cell for cell in cells if not cell.floor), cells[0])
    cell = shipped or best
    cell_questions = set(view.question_ids(cell))
    by_kind = {
        kind: [record for record in records if record.given == kind] for kind in get_args(Given)
    }
    ids = [
        e.question
        for e in by_kind["evidence"]
        if e.context is not None and e.question in cell_questions
    ]
    names = _measure_names(view, records)
    return PotentialPair(
        generator=name,
        cell=cell,
        best=None if best is cell else best,
        ids=ids,
        nothing=_oracle_scores(by_kind["nothing"], names),
        here=_cell_scores(view, cell, names, test),
        highest=None if best is cell else _cell_scores(view, best, names, test),
        evidence=_oracle_scores(by_kind["evidence"], names),
        names=names,
    )


def _measure_names(view: View, records: Sequence[OracleOutcome]) -> list[str]:
    """Return what is compared: the deciding metric first if it is of answers, then right ones."""
    about = view.run.provenance.metrics
    scored = records[0].scores if records else {}
    metric_names = [
        name
        for name in view.metrics
        if name in scored
        and about[name].kind != "descriptive"
        and name.partition("(")[0] not in DECLINE_METRICS
    ]
    tested = [RIGHT] if any(record.answered is not None for record in records) else []
    first = [name for name in metric_names if name == view.by]
    return [*first, *tested, *(name for name in metric_names if name != view.by)]


def _oracle_scores(records: Sequence[OracleOutcome], names: Sequence[str]) -> PotentialScores:
    """Return the scores of records of the oracle."""
    scores: dict[str, dict[str, Score]] = {}
    for name in names:
        scores[name] = {
            record.question: _right_score(record.answered, record.error is not None)
            if name == RIGHT
            else record.scores[name]
            for record in records
        }
    return PotentialScores(scores)


def _cell_scores(
    view: View, cell: CellResult, names: Sequence[str], test: AnswerTest
) -> PotentialScores:
    """Return the scores of a cell's records."""
    scores: dict[str, dict[str, Score]] = {}
    for name in names:
        scores[name] = {
            record.question: _right_score(
                _passes_answer_test(view, record, test), record.error is not None
            )
            if name == RIGHT
            else record.scores[name]
            for record in view.records(cell)
        }
    return PotentialScores(scores)


def _passes_answer_test(view: View, record: Outcome, test: AnswerTest) -> bool | None:
    text = record.answer
    answer = None if text is None else Answer(text, bool(record.declined))
    return is_right(test, Case(view.question(record), answer=answer))


def _right_score(passed: bool | None, failed: bool) -> Score:
    if passed is None:
        return not_scored("nothing says what a right answer is")
    return Score(None, "it failed", "failed") if failed else Score(float(passed))
