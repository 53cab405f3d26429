"""Operands of a comparison: a run, a baseline or pooled runs, as arrays of scores by cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from harness.errors import HarnessError
from harness.fingerprint import fingerprint
from harness.records import Question, Score
from harness.store.cell_labels import Parts, parts_of
from harness.store.expenses import money_of_questions
from harness.store.frame import STATES, UNKNOWN
from harness.store.reader import StoredRun, load
from harness.store.run_file import Provenance

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
Cost = Literal["money", "tokens", "seconds"]
_NOT_SCORED = STATES.index("not_scored")


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


@dataclass(frozen=True, eq=False)
class ScoreColumn:
    """One metric over one cell, in the order of the operand's questions.

    `values` is [questions], nan where there is none; of a metric of the whole set it holds counts,
    [questions, counts]. `states` are places in `STATES`, `UNKNOWN` where it was not asked.
    """

    values: Floats
    states: Codes

    @property
    def known(self) -> Mask:
        """Which questions have a value, or counts."""
        mask: Mask = ~np.isnan(self.values if self.values.ndim == 1 else self.values[:, 0])
        return mask

    def scores(self, places: Codes | slice = slice(None)) -> list[Score]:
        """Return the scores at some places, without reasons; not asked is not scored."""
        values, known = self.values[places].tolist(), self.known[places].tolist()
        scores = []
        for value, is_known, state in zip(values, known, self.states[places].tolist(), strict=True):
            if not is_known:
                name = STATES[_NOT_SCORED if state == UNKNOWN else state]
                scores.append(Score(None, state=name))
            elif isinstance(value, list):
                scores.append(Score(None, counts=tuple(value)))
            else:
                scores.append(Score(value))
        return scores


def column_from_scores(scores: Sequence[Score]) -> ScoreColumn:
    """Return scores of all questions as a column."""
    width = max((len(score.counts) for score in scores), default=0)
    missing: Any = [np.nan] * width if width else np.nan
    values = [
        (list(score.counts) or missing)
        if width
        else (np.nan if score.value is None else score.value)
        for score in scores
    ]
    states = [STATES.index(score.state) for score in scores]
    return ScoreColumn(np.array(values, dtype=np.float64), np.array(states, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class OperandCell:
    """One cell: its components, a column a metric, and which questions it was asked.

    `failed` are those that the system gave up on. `spent` is what a question took: seconds over all
    stages, tokens sent and got, and what they cost; nan where that is not known. All arrays are
    [questions], in the order of the operand's.
    """

    name: str
    parts: Parts
    fingerprint: str
    floor: bool
    columns: Mapping[str, ScoreColumn]
    asked: Mask
    failed: Mask
    spent: Mapping[Cost, Floats]

    @property
    def chunker(self) -> str | None:
        """What cut the documents; metrics of an index's own chunks depend on it."""
        return self.parts["chunker"]

    def cost(self, kind: Cost) -> float | None:
        """Return what a question took, of those that finished; None where it is not known.

        Seconds are the median of those that were timed; of tokens and money the mean, which needs
        each question's.
        """
        values = self.spent[kind][self.asked & ~self.failed]
        known = values[~np.isnan(values)].tolist()
        if not known or (kind != "seconds" and len(known) < len(values)):
            return None
        return median(known) if kind == "seconds" else fmean(known)


def merge_cells(cells: Sequence[tuple[OperandCell, Codes]], count: int) -> OperandCell:
    """Return one cell over `count` questions; each cell comes with the places of its own.

    Where several asked a question the last of them counts, whose components it has, too.
    """

    def merge(arrays: Sequence[NDArray[Any]], missing: object) -> NDArray[Any]:
        merged = np.full((count, *max(array.shape[1:] for array in arrays)), missing)
        for (cell, places), array in zip(cells, arrays, strict=True):
            merged[places[cell.asked]] = array[cell.asked]
        return merged

    newest = cells[-1][0]
    columns = {}
    for name in newest.columns:
        own = [cell.columns[name] for cell, _ in cells]
        columns[name] = ScoreColumn(
            merge([column.values for column in own], np.nan),
            merge([column.states for column in own], UNKNOWN),
        )
    return replace(
        newest,
        columns=columns,
        asked=merge([cell.asked for cell, _ in cells], False),
        failed=merge([cell.failed for cell, _ in cells], False),
        spent={
            kind: merge([cell.spent[kind] for cell, _ in cells], np.nan) for kind in newest.spent
        },
    )


def _no_scores(cell: str, question: str) -> Mapping[str, Score]:
    return {}


@dataclass(frozen=True, eq=False)
class Operand:
    """A run, or what stands in the place of one, as comparisons, gates and baselines read it.

    `stored` is the run itself, with rankings and answers; None for a baseline's file. `newest` are
    the questions that the newest run asked, where it is pooled with earlier ones; None: all.
    `recorded` gives the scores of a question in a cell with their reasons, where these are kept.
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
    newest: Mask | None = None
    recorded: Callable[[str, str], Mapping[str, Score]] = field(default=_no_scores)

    def places(self, ids: Sequence[str]) -> Codes:
        """Return the places of some questions among all."""
        numbers = {id_: number for number, id_ in enumerate(self.questions)}
        return np.array([numbers[id_] for id_ in ids], dtype=np.int64)

    def reason(self, cell: str, question: str, metric: str) -> str:
        """Return why a question has no value; "" where that is not known."""
        score = self.recorded(cell, question).get(metric)
        return "" if score is None else score.reason

    @property
    def clusters(self) -> list[str] | None:
        """The cluster of each question, where whole ones were drawn."""
        names = [question.cluster or id_ for id_, question in self.questions.items()]
        return names if any(question.cluster for question in self.questions.values()) else None


def read(folder: Path) -> Operand:
    """Return the run in `folder`.

    Raises:
        DataError: it holds no run, or one that is damaged or of a newer format.
        Incomparable: the run did not finish.
    """
    return operand_from_run(load(folder))


def operand_from_run(stored: StoredRun, finished: bool = True) -> Operand:
    """Return a stored run, which must have `finished` unless that is not asked for.

    Raises:
        Incomparable: the run did not finish.
    """
    run, frame = stored.run, stored.frame
    if finished and run.status != "finished":
        failed = sum(cell.failed for cell in run.cells)
        share = f"{failed} of {sum(cell.asked for cell in run.cells)} answers failed"
        hint = "the command that began it continues it"
        if run.status == "failed":
            hint = "find out why, and run it again"
        message = f"the run is {run.status}, not finished ({share})"
        raise Incomparable(f"{stored.folder}: {message}\n  {hint}")

    def table(values: NDArray[Any], missing: object) -> NDArray[Any]:
        filled = np.full((len(run.cells), len(stored.questions), *values.shape[1:]), missing)
        filled[frame.cell, frame.question] = values
        return filled

    columns = {}
    for name, about in run.provenance.metrics.items():
        values = frame.value[name]
        if about.kind == "whole set":
            counts = frame.counts.get(name, [()] * len(frame))
            values = np.full((len(frame), max(map(len, counts), default=0) or 1), np.nan)
            for place, own in enumerate(counts):
                if len(own) == values.shape[1]:
                    values[place] = own
        columns[name] = table(values, np.nan), table(frame.state[name].astype(np.int64), UNKNOWN)
    tokens = frame.answer_tokens_in + frame.answer_tokens_out
    spent: dict[Cost, Floats] = {
        "seconds": table(frame.total_seconds, np.nan),
        "tokens": table(tokens, np.nan),
        "money": table(np.full(len(frame), np.nan), np.nan),
    }
    for row, cell in enumerate(run.cells):
        places = stored.places(cell.name)
        if run.prices is not None:
            money = money_of_questions(frame.at(places), cell.spent, run.prices)
            spent["money"][row, frame.question[places]] = money
    asked, gave_up = table(np.ones(len(frame), np.bool_), False), table(frame.failed, False)

    def recorded(cell: str, question: str) -> Mapping[str, Score]:
        record = stored.record(cell, question)
        return {} if record is None else record.scores

    return Operand(
        id=run.id,
        started=run.started,
        config=run.config,
        provenance=run.provenance,
        decide_by=run.decide_by,
        baseline=run.baseline,
        questions={id_: _compared_question(line) for id_, line in stored.questions.items()},
        cells={
            cell.name: OperandCell(
                cell.name,
                parts_of(cell),
                cell.fingerprint,
                cell.floor,
                {
                    name: ScoreColumn(values[row], states[row])
                    for name, (values, states) in columns.items()
                },
                asked[row],
                gave_up[row],
                {kind: amounts[row] for kind, amounts in spent.items()},
            )
            for row, cell in enumerate(run.cells)
        },
        stored=stored,
        recorded=recorded,
    )


def _compared_question(line: Question) -> ComparedQuestion:
    passages = sorted(
        [passage.span.doc, passage.text, passage.group, passage.grade] for passage in line.passages
    )
    gold = [line.answers, line.keywords, passages, line.documents, line.answerable]
    content = fingerprint(line.text, *gold)
    return ComparedQuestion(content, line.category, line.difficulty, line.cluster)
