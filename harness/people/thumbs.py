"""Thumbs up and down from production: a file of JSON Lines, or CSV with a heading row."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from annotated_types import MaxLen, MinLen
from pydantic import AfterValidator, BeforeValidator, TypeAdapter

from harness import limits
from harness.errors import Problem, first_problems, suggest
from harness.files import data_rows, reading
from harness.fingerprint import fingerprint
from harness.people.ratings import AnswerRating
from harness.people.saved_forms import parse_moment
from harness.ranking.relevance import fold
from harness.store.reader import StoredRun

_WORDS = {"up": True, "1": True, "true": True, "down": False, "-1": False, "false": False}
_MAX_PROBLEMS = 20
_HINT = '{"question": "id or text", "thumb": "up", "cell": "...", "comment": ""}'


def _as_thumb(value: Any) -> bool:
    thumb = _WORDS.get(str(value).strip().lower())
    if thumb is None:
        raise ValueError("write up or down; or 1 or -1, true or false")
    return thumb


def _as_text(value: Any) -> Any:
    """Take nothing for an empty text, and a whole number for a text."""
    return "" if value is None else str(value) if isinstance(value, int) else value


def _as_moment(text: str) -> str:
    return parse_moment(text) if text else ""


_Text = Annotated[str, BeforeValidator(_as_text)]


@dataclass(frozen=True)
class _Thumb:
    """What is read of a line."""

    question: Annotated[str, MinLen(1)]
    thumb: Annotated[bool, BeforeValidator(_as_thumb)]
    cell: _Text = ""
    comment: Annotated[_Text, MaxLen(limits.MAX_COMMENT_CHARS)] = ""
    user: _Text = ""
    time: Annotated[_Text, AfterValidator(_as_moment)] = ""


@cache
def _thumb_type() -> TypeAdapter[_Thumb]:
    return TypeAdapter(_Thumb)


@dataclass(frozen=True)
class Thumbs:
    """The thumbs of one file in its order, and the questions in it that the run was not asked."""

    form: str
    lines: Sequence[AnswerRating]
    unmatched: Mapping[str, int]


class ThumbMatcher:
    """Finds the question and the cell that a thumb is about."""

    def __init__(self, stored: StoredRun, cell: str | None) -> None:
        self.cells = [run_cell.name for run_cell in stored.run.cells]
        self.cell = cell if cell is not None or len(self.cells) > 1 else self.cells[0]
        self._ids = stored.questions.keys()
        self._by_text: dict[str, list[str]] = {}
        for line in stored.questions.values():
            self._by_text.setdefault(fold(line.text), []).append(line.id)
        self._asked = {(record.cell, record.question) for record in stored.records}

    def find_question(self, text: str, cell: str) -> str | None:
        """Return the id of the question that is named by it, or by its text, if it was asked."""
        ids = [text] if text in self._ids else self._by_text.get(fold(text), [])
        return ids[0] if len(ids) == 1 and (cell, ids[0]) in self._asked else None


def read(path: Path, matcher: ThumbMatcher) -> Thumbs | list[Problem]:
    """Return the thumbs of a file, or all that is wrong with it."""
    try:
        content = reading.read_whole(path, limits.MAX_RATINGS_FILE_BYTES)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        return [Problem(str(path), message, "look at the path, or import it in parts")]
    form = f"{path.name}@{hashlib.sha256(content).hexdigest()[:12]}"
    problems: list[Problem] = []
    lines: list[AnswerRating] = []
    unmatched: Counter[str] = Counter()
    for row in data_rows.read_rows(path, _thumb_type(), _HINT):
        if isinstance(row, Problem):
            problems.append(row)
            continue
        thumb = row.value
        cell = thumb.cell or matcher.cell
        if cell is None:
            message = "names no cell, and the run has several"
            hint = f"name one: --cell NAME; {suggest('', matcher.cells)}"
            problems.append(Problem(row.where, message, hint))
        elif cell not in matcher.cells:
            message = f"cell {cell[:80]!r} is not in the run"
            problems.append(Problem(row.where, message, suggest("", matcher.cells)))
        elif (question := matcher.find_question(thumb.question, cell)) is None:
            unmatched[thumb.question] += 1
        else:
            lines.append(
                AnswerRating(
                    source="thumb",
                    form=form,
                    # Users are customers: only who is the same is anybody's business here.
                    rater=fingerprint(thumb.user) if thumb.user else "",
                    saved=thumb.time,
                    cells=(cell,),
                    question=question,
                    thumb=thumb.thumb,
                    comment=thumb.comment.strip(),
                )
            )
    if not (problems or lines or unmatched):
        return [Problem(str(path), "has no thumbs", "look at the path")]
    return first_problems(problems, _MAX_PROBLEMS) or Thumbs(form, lines, unmatched)
