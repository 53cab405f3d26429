"""Scores the oracle's answers of a stored run again, without asking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from harness.metrics.named_metrics import NamedMetric
from harness.records import Case, Question, Score
from harness.runs.oracle.chunker_ceilings import CeilingScores
from harness.runs.oracle.oracle_scores import summarise, to_case
from harness.store.reader import StoredRun
from harness.store.run_file import ChunkerCeiling, OracleOutcome, OracleResult


def judged_answers(
    records: Sequence[OracleOutcome], questions: Mapping[str, Question]
) -> Iterator[tuple[Mapping[str, Score], Case]]:
    """Yield the scores of each answer as they were, and its case."""
    for record in records:
        yield record.scores, to_case(record, questions[record.question])


def summarise_again(
    stored: StoredRun, records: Sequence[OracleOutcome], metrics: Sequence[NamedMetric]
) -> list[OracleResult]:
    """Return what the records come to; what the answers took stays as it was."""
    spent = {(line.generator, line.given): line.spent for line in stored.run.oracle}
    summaries = summarise(records, metrics, stored.clusters)
    return [replace(line, spent=spent.get((line.generator, line.given))) for line in summaries]


def recompute_ceilings(
    stored: StoredRun, questions: Mapping[str, Question]
) -> list[ChunkerCeiling]:
    """Return what each chunker allows, from the first cell that has it."""
    run, lines = stored.run, []
    for line in run.ceilings:
        first = next(cell.name for cell in run.cells if cell.chunker == line.chunker)
        ceiling = CeilingScores(line.chunker, line.k)
        for record in stored.records_of([first]):
            ceiling.add(record, questions[record.question])
        lines.append(ceiling.line(stored.clusters))
    return lines
