"""Loads a stored run as an operand of a comparison: the scores of each question in each cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, ClassVar, Literal

from harness.errors import HarnessError
from harness.fingerprint import fingerprint
from harness.records import Failure, Question, Score
from harness.store import expenses
from harness.store.cell_labels import Parts, parts_of
from harness.store.reader import StoredRun, load
from harness.store.run_file import Provenance, RunFile


class Incomparable(HarnessError):
    """Two sides cannot be compared, or one is not finished; says why, and what would do."""

    status: ClassVar[int] = 3


@dataclass(frozen=True)
class ComparedQuestion:
    """A question as comparisons see it; two with the same `content` ask and want the same.

    `content` is a hash of its text and its gold; where gold passages stand does not matter.
    """

    content: str
    category: str | None = None
    difficulty: str | None = None
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What came of one question in one cell: each metric's score, and what it took.

    `seconds` is the sum of its stages', `tokens` what was sent and got, and `money` what that cost;
    None where not known.
    """

    scores: Mapping[str, Score]
    error: Failure | None = None
    seconds: float | None = None
    tokens: int | None = None
    money: float | None = None


@dataclass(frozen=True)
class OperandCell:
    """One cell: its components, and the result of each question by its id."""

    name: str
    parts: Parts
    fingerprint: str
    floor: bool
    results: Mapping[str, QuestionResult]

    @property
    def chunker(self) -> str | None:
        """What cut the documents; metrics of an index's own chunks depend on it."""
        return self.parts["chunker"]

    def median_seconds(self) -> float | None:
        """Return the median seconds of a question that finished; None where none was timed."""
        values = [value for value in self._spent("seconds") if value is not None]
        return median(values) if values else None

    def mean_cost(self, kind: Literal["tokens", "money"]) -> float | None:
        """Return the mean of the questions that finished; None where one's is not known."""
        spent = self._spent(kind)
        values = [value for value in spent if value is not None]
        return fmean(values) if values and len(values) == len(spent) else None

    def _spent(self, kind: str) -> list[float | None]:
        return [getattr(result, kind) for result in self.results.values() if result.error is None]


@dataclass(frozen=True, eq=False)
class Operand:
    """A run, or a baseline made of one, as comparisons, gates and baselines read it.

    `stored` is the run itself, with rankings and answers; None for a baseline's file. `newest` are
    the questions that the newest run asked, where it is pooled with earlier ones; None: all.
    """

    id: str
    started: str
    config: Mapping[str, Any]
    provenance: Provenance
    decide_by: str
    baseline: str | None
    questions: Mapping[str, ComparedQuestion]
    cells: Mapping[str, OperandCell]
    stored: StoredRun | None = None
    newest: frozenset[str] | None = None


def read(folder: Path) -> Operand:
    """Return the side of the run in `folder`.

    Raises:
        DataError: it holds no run, or one that is damaged or of a newer format.
        Incomparable: the run did not finish.
    """
    return operand_from_run(load(folder))


def operand_from_run(stored: StoredRun, finished: bool = True) -> Operand:
    """Return the side of a stored run, which must have `finished` unless that is not asked for.

    Raises:
        Incomparable: the run did not finish.
    """
    if finished:
        refuse_unfinished(stored.folder, stored.run)
    results: dict[str, dict[str, QuestionResult]] = {cell.name: {} for cell in stored.run.cells}
    spent = {cell.name: cell.spent for cell in stored.run.cells}
    ids = {id_: id_ for id_ in stored.questions}
    alike: dict[tuple[float | None, str, str], Score] = {}
    for record in stored.records:
        usage = record.usage
        tokens = (usage.tokens_in, usage.tokens_out) if usage is not None else (None, None)
        results[record.cell][ids[record.question]] = QuestionResult(
            # One object for all equal scores, of which a run has many thousands.
            scores={
                name: line
                if line.counts or line.verdicts
                else alike.setdefault((line.value, line.reason, line.state), line)
                for name, line in record.scores.items()
            },
            error=record.error,
            seconds=sum(record.seconds.values()) if record.seconds else None,
            tokens=None if tokens[0] is None or tokens[1] is None else tokens[0] + tokens[1],
            money=expenses.question_money(record, spent[record.cell], stored.run.prices),
        )
    return Operand(
        id=stored.run.id,
        started=stored.run.started,
        config=stored.run.config,
        provenance=stored.run.provenance,
        decide_by=stored.run.decide_by,
        baseline=stored.run.baseline,
        questions={id_: compared_question(line) for id_, line in stored.questions.items()},
        cells={
            cell.name: OperandCell(
                cell.name, parts_of(cell), cell.fingerprint, cell.floor, results[cell.name]
            )
            for cell in stored.run.cells
        },
        stored=stored,
    )


def refuse_unfinished(folder: Path, run: RunFile) -> None:
    """Raise `Incomparable` unless the run finished."""
    if run.status == "finished":
        return
    failed = sum(cell.failed for cell in run.cells)
    counts = f"{failed} of {sum(cell.asked for cell in run.cells)} answers failed"
    hint = "the command that began it continues it"
    if run.status == "failed":
        hint = "find out why, and run it again"
    raise Incomparable(f"{folder}: the run is {run.status}, not finished ({counts})\n  {hint}")


def compared_question(line: Question) -> ComparedQuestion:
    """Return a stored question as comparisons see it."""
    passages = sorted(
        [passage.span.doc, passage.text, passage.group, passage.grade] for passage in line.passages
    )
    gold = [line.answers, line.keywords, passages, line.documents, line.answerable]
    content = fingerprint(line.text, *gold)
    return ComparedQuestion(content, line.category, line.difficulty, line.cluster)
