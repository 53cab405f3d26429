"""Files of people's labels: a label an item, with verdicts or with what a judge has to read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, MinLen
from pydantic import BeforeValidator, Field, TypeAdapter

from harness import limits
from harness.errors import DataError, Problem, first_problems, suggest
from harness.files import data_rows, reading
from harness.files.data_rows import DataRow, id_as_text

_HINT = '{"item": "q1", "label": 1, "verdict": 1}, or {"item": "q1", "label": 3, "answer": "..."}'
DRAWN = r"^(random|all|rate:\d+|)$"
"""How items may have been chosen, so that their labels correct a mean."""
_MAX_PROBLEMS = 20
_Name = Annotated[str, BeforeValidator(id_as_text)]
_Figure = Annotated[float, Ge(0), Field(allow_inf_nan=False)]


@dataclass(frozen=True, kw_only=True)
class LabelRow:
    """One person's label of one item.

    Attributes:
        item: Names the item; in a run it is the question's id.
        label: 0 or 1, a grade from 0 to 3, or a share from 0 to 1.
        verdict: The judge's, on the same item; None: the judge is to be asked.
        cluster: Items that hang together, such as answers to one question.
        rater: Who labelled it, where several did.
        metric: What it is a label for; "" where that is clear.
        prompt_version: Of the metric's prompt that the verdict was made with.
        cell: Of the run; "" where it has one.
        hit: Rank of the labelled hit, from 1; None: the answer.
        sha256: Hash of the labelled text, in a run: the answer, or the hit.
        drawn: How the items were chosen: `random`, `all` or `rate:SEED`.
        question: What the judge reads, with `answer`, `context` and `reference`.
    """

    item: Annotated[_Name, MinLen(1)]
    label: _Figure
    verdict: _Figure | None = None
    cluster: _Name | None = None
    rater: _Name = ""
    metric: str = ""
    prompt_version: int | None = None
    cell: str = ""
    hit: Annotated[int, Ge(1)] | None = None
    sha256: str = ""
    drawn: Annotated[str, Field(pattern=DRAWN)] = ""
    question: str = ""
    answer: str = ""
    context: str = ""
    reference: str = ""


@dataclass(frozen=True)
class LabelFile:
    """The labels of one file, in its order, with the place of each."""

    path: Path
    hash: str
    rows: Sequence[DataRow[LabelRow]]

    @property
    def kind(self) -> Literal["verdicts", "texts"]:
        """Whether verdicts are recorded in it, or the judge has to read its texts."""
        return "verdicts" if any(r.value.verdict is not None for r in self.rows) else "texts"


@cache
def _row_type() -> TypeAdapter[LabelRow]:
    return TypeAdapter(LabelRow)


def read_labels(path: Path) -> LabelFile:
    """Read a file of labels: JSON Lines, or CSV with a heading row; other columns are ignored.

    Raises:
        DataError: with all that is wrong with it.
    """
    try:
        content = reading.read_whole(path, limits.MAX_RATINGS_FILE_BYTES)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise DataError("the labels", [Problem(str(path), message, "look at the path")]) from None
    rows: list[DataRow[LabelRow]] = []
    problems: list[Problem] = []
    first: dict[tuple[str, str, str, str, int | None], DataRow[LabelRow]] = {}
    for row in data_rows.read_rows(path, _row_type(), _HINT):
        if isinstance(row, Problem):
            problems.append(row)
            continue
        value = row.value
        key = (value.metric, value.item, value.rater, value.cell, value.hit)
        before = first.setdefault(key, row)
        if before is row:
            rows.append(row)
        elif before.value.label != value.label:
            message = (
                f"item {value.item!r} has label {value.label:g}, and another in {before.where}"
            )
            hint = "keep one, or say in a column `rater` who gave each"
            problems.append(Problem(row.where, message, hint))
    if not rows and not problems:
        problems.append(Problem(str(path), "has no labels", _HINT))
    if problems:
        raise DataError("the labels", first_problems(problems, _MAX_PROBLEMS))
    return LabelFile(path, hashlib.sha256(content).hexdigest(), rows)


def find_metric(judged: Mapping[str, Any], name: str) -> str | None:
    """Return the metric that a label is for: the one named, or the only one; None if not known."""
    if not name:
        return next(iter(judged)) if len(judged) == 1 else None
    return next((known for known, metric in judged.items() if name in (known, metric.name)), None)


def text_hash(text: str) -> str:
    """Return the SHA-256 by which a label knows the text that it is about."""
    return hashlib.sha256(text.encode()).hexdigest()


def row_hash(row: LabelRow) -> str:
    """Return the hash of the text that a row is about; "" where it says nothing of it."""
    text = row.answer if row.hit is None else row.context
    return row.sha256 or (text_hash(text) if text else "")


def find_run_problems(
    file: LabelFile, judged: Mapping[str, Any], several_cells: bool
) -> Iterator[Problem]:
    """Yield what of a file cannot be labels of a run, whose metrics `judged` ask a judge."""
    problems = []
    for line in file.rows:
        row, name = line.value, find_metric(judged, line.value.metric)
        item = f"item {row.item!r}"
        if name is None and not judged:
            message, hint = "no metric asks a judge", "add one, such as correctness, and a `judge`"
            problems.append(Problem(line.where, message, hint))
        elif name is None and row.metric:
            message = f"{item} is a label for {row.metric!r}, which asks no judge here"
            problems.append(Problem(line.where, message, suggest(row.metric, judged)))
        elif name is None:
            message = f"{item} does not say which metric its label is for"
            hint = f"add a column `metric`: {', '.join(judged)}"
            problems.append(Problem(line.where, message, hint))
        else:
            top = judged[name].top
            if row.label > top or (top > 1 and row.label != round(row.label)):
                scale = f"grades from 0 to {top}" if top > 1 else "shares from 0 to 1"
                message = f"{item} has label {row.label:g}, and labels for {name} are {scale}"
                problems.append(Problem(line.where, message, "write it on that scale"))
        if not row_hash(row):
            message = f"{item} does not say which text was labelled"
            hint = "add a column `answer` (of a hit `context`) with the text, or `sha256`"
            problems.append(Problem(line.where, message, hint))
        if not row.cell and several_cells:
            message = f"{item} names no cell, and the run has several"
            problems.append(Problem(line.where, message, "add a column `cell`"))
    return iter(first_problems(problems, _MAX_PROBLEMS))
