"""`ratings.jsonl`, read back: each answer that people rated, with all they said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

from pydantic import ValidationError

from harness import sealed
from harness.errors import DataError, Problem
from harness.relevance import folded
from harness.store import StoredRun
from harness.stored import Overall, RatingLine

RATINGS = "ratings.jsonl"
Aspect = Literal["overall", "correctness", "directness", "completeness", "helpfulness", "chunks"]
ASPECTS: tuple[Aspect, ...] = (
    "overall", "correctness", "directness", "completeness", "helpfulness", "chunks",
)  # fmt: skip
"""What an answer is rated for, each from 0 to 3; `chunks` is the mean grade of what it got."""
TOP = 3
OVERALL: Mapping[Overall, int] = {"poor": 0, "fair": 1, "good": 2, "excellent": 3}
RELEVANT = 2
"""The lowest grade of a chunk that a person called relevant."""

Person = tuple[str, str]
"""Who rated: no form and a name; or, of who gave none, the form and the number on it."""


@dataclass(frozen=True)
class Rated:
    """One answer, the cells that gave it, and what each person said of it."""

    question: str
    cells: tuple[str, ...]
    lines: tuple[RatingLine, ...]

    def mean(self, aspect: Aspect) -> float | None:
        """Return the mean over its raters, from 0 to 3; None where nobody said."""
        said = [value for line in self.lines if (value := grade(line, aspect)) is not None]
        return fmean(said) if said else None

    def relevant(self) -> float | None:
        """Return the share of its chunks that were called relevant, a mean over its raters."""
        said = [
            fmean(each.grade >= RELEVANT for each in line.chunks)
            for line in self.lines
            if line.chunks
        ]
        return fmean(said) if said else None


def grade(line: RatingLine, aspect: Aspect) -> float | None:
    """Return what one person said of one aspect, from 0 to 3; None where nothing."""
    if aspect == "chunks":
        return fmean(each.grade for each in line.chunks) if line.chunks else None
    if aspect == "overall":
        return None if line.overall is None else OVERALL[line.overall]
    found: int | None = getattr(line, aspect)
    return found


def person(line: RatingLine) -> Person:
    """Return who rated: one name is one person, on whatever forms it stands."""
    name = folded(line.name)
    return ("", name) if name else (line.form, line.rater)


def apart(lines: Sequence[RatingLine]) -> list[list[RatingLine]]:
    """Return the lines in groups in which two raters are known to be two people, oldest first.

    Who gave no name may have filled in another form too: then each form is a group of its own.
    """
    groups: dict[str, list[RatingLine]] = {}
    named = all(person(line)[0] == "" for line in lines)
    for line in sorted(lines, key=lambda line: line.saved):
        groups.setdefault("" if named else line.form, []).append(line)
    return list(groups.values())


def read(stored: StoredRun) -> tuple[RatingLine, ...]:
    """Return what people said of a run and did not take back; nothing where nobody was asked.

    Of the thumbs of one user on one answer the latest counts: by time, else the last imported.

    Raises:
        DataError: the file is damaged, or speaks of what the run does not have.
    """
    lines = everything(stored)
    latest: dict[tuple[str, str, str], tuple[str, int]] = {}
    for at, line in enumerate(lines):
        if line.source == "thumb" and line.rater:
            key = (line.rater, line.cells[0], line.question)
            latest[key] = max(latest.get(key, ("", 0)), (line.saved, at))
    counting = {at for _, at in latest.values()}
    return tuple(
        line
        for at, line in enumerate(lines)
        if line.source == "form" or not line.rater or at in counting
    )


def everything(stored: StoredRun) -> tuple[RatingLine, ...]:
    """Return all lines of the file, in its order: thumbs are in the order of their import.

    Raises:
        DataError: the file is damaged, or speaks of what the run does not have.
    """
    path = stored.folder / RATINGS
    if not path.is_file() or (stored.sums is not None and RATINGS not in stored.sums):
        return ()
    cells = {cell.name for cell in stored.run.cells}
    try:
        return tuple(_lines(path, cells, stored))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(str(path), [Problem("the file", str(error), _HINT)]) from None


_HINT = "delete it, and import the ratings again"


def _lines(path: Path, cells: set[str], stored: StoredRun) -> Iterator[RatingLine]:
    raw = sealed.read_as(stored.folder, RATINGS, stored.sums)
    for number, text in enumerate(raw.splitlines(), start=1):
        what = ""
        try:
            line = RatingLine.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            what = f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
        else:
            if line.question not in stored.questions or not cells.issuperset(line.cells):
                what = "the run lacks its question or its cell"
        if what:
            raise DataError(str(path), [Problem(f"line {number}", what, _HINT)])
        yield line


def rated(lines: Sequence[RatingLine]) -> list[Rated]:
    """Return each answer that forms asked of, once, however many forms and raters it had.

    Two items of one question are one answer where a cell gave both.
    """
    found: dict[str, list[tuple[set[str], list[RatingLine]]]] = {}
    for line in lines:
        if line.source != "form":
            continue
        some = found.setdefault(line.question, [])
        cells, said = set(line.cells), [line]
        for each in [each for each in some if each[0] & cells]:
            some.remove(each)
            cells, said = cells | each[0], [*each[1], *said]
        some.append((cells, said))
    return [
        Rated(question, tuple(sorted(cells)), tuple(said))
        for question, some in found.items()
        for cells, said in some
    ]
