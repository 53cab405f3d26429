"""The oracle of a stored run, when its answers are scored again: nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.oracle.ceilings import ceiling
from harness.oracle.scored import case, summed
from harness.records import Case, Question
from harness.scoring import Named
from harness.store import StoredRun
from harness.stored import CeilingLine, OracleLine, OracleRecordLine, ScoreLine
from harness.summing import Briefly


def judged(
    records: Sequence[OracleRecordLine], questions: Mapping[str, Question]
) -> Iterator[tuple[Mapping[str, ScoreLine], Case]]:
    """Yield the scores of each answer as they were, and its case."""
    for each in records:
        yield each.scores, case(each, questions[each.question])


def lines(
    stored: StoredRun, records: Sequence[OracleRecordLine], metrics: Sequence[Named]
) -> list[OracleLine]:
    """Return what the records come to; what the answers took stays as it was."""
    took = {(line.generator, line.given): line.spent for line in stored.run.oracle}
    found = summed(records, metrics, stored.run.provenance.seed, stored.clusters)
    return [
        line.model_copy(update={"spent": took.get((line.generator, line.given))}) for line in found
    ]


def ceilings(stored: StoredRun, questions: Mapping[str, Question]) -> list[CeilingLine]:
    """Return what each chunker allows, from the first cell that has it."""
    run, found, brief = stored.run, [], Briefly(touching=True)
    for line in run.ceilings:
        first = next(cell.name for cell in run.cells if cell.chunker == line.chunker)
        own = [brief(record) for record in stored.of([first])]
        seed, clusters = run.provenance.seed, stored.clusters
        found.append(ceiling(line.chunker, own, questions, line.k, seed, clusters))
    return found
