"""The oracle of one run while it goes on: what it was told, and what it comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing

from harness.kept import Answers
from harness.oracle.asking import ask, generators
from harness.oracle.ceilings import ceiling
from harness.oracle.given import KINDS, Put, puts
from harness.oracle.scored import scored, summed
from harness.plan import Plan
from harness.records import Question
from harness.scoring import Keeper
from harness.stored import CeilingLine, OracleLine, OracleRecordLine, RecordLine
from harness.sweep import Cell

Told = Callable[[str, OracleRecordLine, int], None]
"""Is told of each record: what is being asked, the record, and how many there will be."""


class Oracle:
    """Asks the generators of a run beside its cells, and sums up what they answered."""

    def __init__(
        self, questions: Sequence[Question], plan: Plan, clusters: Mapping[str, str] | None
    ) -> None:
        self.records: list[OracleRecordLine] = []
        self._questions = {each.id: each for each in questions}
        self._plan = plan
        self._clusters = clusters
        self._ceilings: dict[str, CeilingLine] = {}

    def look(self, cell: Cell, records: Sequence[RecordLine]) -> None:
        """Note what the chunker of a cell allows; `records` are the cell's."""
        chunker, settings = str(cell.labels()["chunker"]), self._plan.settings
        if chunker not in self._ceilings:
            k, seed = settings.context.chunks, settings.seed
            line = ceiling(chunker, records, self._questions, k, seed, self._clusters)
            self._ceilings[chunker] = line

    def ask(
        self, cells: Iterable[Cell], answers: Callable[[Cell], Answers], keeper: Keeper, told: Told
    ) -> None:
        """Ask every generator that answers; whatever ends this, what was answered is kept.

        Raises:
            Exception: what a generator or `told` raised, other than `StageError`.
        """
        given = puts(self._questions.values(), self._plan.settings)
        for name, cell in generators(cells).items():
            for kind in KINDS:
                some = [each for each in given if each.given == kind]
                self._ask(name, cell, some, answers(cell), keeper, told)

    def _ask(
        self,
        name: str,
        cell: Cell,
        some: Sequence[Put],
        answers: Answers,
        keeper: Keeper,
        told: Told,
    ) -> None:
        made: dict[str, OracleRecordLine] = {}
        try:
            with closing(ask(name, cell.generator, some, answers)) as done:
                for record in done:
                    made[record.question] = record
                    told(f"oracle: {record.given}, {name}", record, len(some))
        finally:
            ordered = [made[id_] for id_ in self._questions if id_ in made]
            settings = self._plan.settings
            self.records += scored(
                ordered,
                self._questions,
                self._plan.metrics,
                self._plan.labels,
                settings.relevance_level,
                settings.answer_test,
                keeper,
            )

    def summed(self) -> list[OracleLine]:
        """Return what each generator came to with each of the two, so far."""
        return summed(self.records, self._plan.metrics, self._plan.settings.seed, self._clusters)

    def ceilings(self) -> list[CeilingLine]:
        """Return what each chunker allows, of those looked at so far."""
        return list(self._ceilings.values())
