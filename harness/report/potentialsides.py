"""The two sides of the oracle's comparison: scores by measure and question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness import oracle
from harness.answertest import AnswerTest
from harness.lines import question, score
from harness.oracle.scored import DECLINES, right
from harness.records import Answer, Case, Score, not_scored
from harness.report.view import View
from harness.stored import CellLine, OracleRecordLine, RecordLine

RIGHT = "answered right"
"""What the share of answers that pass the answer test is called, beside the metrics."""


@dataclass(frozen=True)
class Side:
    """The scores of one side by measure and question."""

    scores: Mapping[str, Mapping[str, Score]]

    def of(self, name: str, ids: Iterable[str]) -> list[Score]:
        """Return the score of each question."""
        known = self.scores[name]
        return [known.get(id_, not_scored("it was not asked")) for id_ in ids]


@dataclass(frozen=True)
class Sides:
    """All that is compared of one generator, over `ids`."""

    generator: str
    cell: CellLine
    best: CellLine | None
    ids: Sequence[str]
    nothing: Side
    here: Side
    highest: Side | None
    evidence: Side
    names: Sequence[str]

    @property
    def compared(self) -> Iterator[tuple[str, Side, Side]]:
        """Yield each measure with the two sides to compare, in the order that rows take them."""
        for at, name in enumerate(self.names):
            yield name, self.evidence, self.here
            if at == 0:
                yield name, self.here, self.nothing


def sides(
    view: View, name: str, records: Sequence[OracleRecordLine], test: AnswerTest
) -> Sides | None:
    """Return what is compared of the generator of a name, whose records these are.

    None where the run has no cell of it.
    """
    cells = [cell for cell in view.cells if cell.generator == name]
    if not cells:
        return None
    shipped = next((cell for cell in cells if cell is view.shipped), None)
    best = next((cell for cell in cells if not cell.floor), cells[0])
    cell = shipped or best
    own = {each.question for each in view.records(cell)}
    given = {kind: [each for each in records if each.given == kind] for kind in oracle.KINDS}
    ids = [e.question for e in given["evidence"] if e.context is not None and e.question in own]
    names = _names(view, records)
    return Sides(
        generator=name,
        cell=cell,
        best=None if best is cell else best,
        ids=ids,
        nothing=_asked(given["nothing"], names),
        here=_retrieved(view, cell, names, test),
        highest=None if best is cell else _retrieved(view, best, names, test),
        evidence=_asked(given["evidence"], names),
        names=names,
    )


def _names(view: View, records: Sequence[OracleRecordLine]) -> list[str]:
    """Return what is compared: the deciding metric first if it is of answers, then right ones."""
    about = view.run.provenance.metrics
    scored = records[0].scores if records else {}
    told = [
        name
        for name in view.metrics
        if name in scored
        and about[name].kind != "descriptive"
        and name.partition("(")[0] not in DECLINES
    ]
    tested = [RIGHT] if any(each.answered is not None for each in records) else []
    first = [name for name in told if name == view.by]
    return [*first, *tested, *(name for name in told if name != view.by)]


def _asked(records: Sequence[OracleRecordLine], names: Sequence[str]) -> Side:
    """Return the scores of records of the oracle."""
    found: dict[str, dict[str, Score]] = {}
    for name in names:
        found[name] = {
            each.question: _right(each.answered, each.error is not None)
            if name == RIGHT
            else score(each.scores[name])
            for each in records
        }
    return Side(found)


def _retrieved(view: View, cell: CellLine, names: Sequence[str], test: AnswerTest) -> Side:
    """Return the scores of a cell's records."""
    found: dict[str, dict[str, Score]] = {}
    for name in names:
        found[name] = {
            each.question: _right(_tested(view, each, test), each.error is not None)
            if name == RIGHT
            else score(each.scores[name])
            for each in view.records(cell)
        }
    return Side(found)


def _tested(view: View, record: RecordLine, test: AnswerTest) -> bool | None:
    said = record.answer
    answer = None if said is None else Answer(said, bool(record.declined))
    return right(test, Case(question(view.question(record)), answer=answer))


def _right(passed: bool | None, failed: bool) -> Score:
    if passed is None:
        return not_scored("nothing says what a right answer is")
    return Score(None, "it failed", "failed") if failed else Score(float(passed))
