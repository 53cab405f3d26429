"""Thumbs up and down from production: a file of JSON Lines, or CSV with a heading row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import limits
from harness.errors import DataError, Problem, suggest
from harness.files import json_lines, reading
from harness.fingerprint import fingerprint
from harness.people import filled_in
from harness.people.rating_records import AnswerRating
from harness.people.ratings.saved_forms import parse_moment
from harness.ranking.relevance import fold
from harness.store.reader import StoredRun

_UP = frozenset({"up", "1", "true"})
_DOWN = frozenset({"down", "-1", "false"})
_MAX_PROBLEMS = 20


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
        self.ids = stored.questions.keys()
        self._by_text: dict[str, list[str]] = {}
        for line in stored.questions.values():
            self._by_text.setdefault(fold(line.text), []).append(line.id)
        self._asked = {(record.cell, record.question) for record in stored.records}

    def find_question(self, text: str) -> str | None:
        """Return the id of a question that is named by it, or by its text; None where none is."""
        if text in self.ids:
            return text
        ids = self._by_text.get(fold(text), [])
        return ids[0] if len(ids) == 1 else None

    def was_asked(self, cell: str, question: str) -> bool:
        """Return whether the cell was asked the question."""
        return (cell, question) in self._asked


def read(path: Path, matcher: ThumbMatcher) -> Thumbs | list[Problem]:
    """Return the thumbs of a file, or all that is wrong with it."""
    problems: list[Problem] = []
    lines: list[AnswerRating] = []
    unmatched: dict[str, int] = {}
    try:
        if path.stat().st_size > limits.MAX_RATINGS_FILE_BYTES:
            message = f"has more than {limits.MAX_RATINGS_FILE_BYTES // 1_000_000} MB"
            return [Problem(str(path), message, "import it in parts, each with a name of its own")]
        content = reading.read_whole(path, limits.MAX_RATINGS_FILE_BYTES)
        form = f"{path.name}@{hashlib.sha256(content).hexdigest()[:12]}"
        for row in filled_in.read_rows(path):
            if isinstance(row, Problem):
                problems.append(Problem(f"{path}, {row.where}", row.what, row.hint))
                continue
            row_problems = list(_find_problems(row, matcher))
            if row_problems:
                where = f"{path}, {row.where}"
                problems += [Problem(where, problem.what, problem.hint) for problem in row_problems]
                continue
            text = str(row.data["question"])
            question = matcher.find_question(text)
            cell = str(row.data.get("cell") or matcher.cell)
            if question is None or not matcher.was_asked(cell, question):
                unmatched[text] = unmatched.get(text, 0) + 1
                continue
            lines.append(_thumb_rating(form, row.data, cell, question))
    except OSError as error:
        hint = "look at the path"
        return [Problem(str(path), f"cannot be read: {error.strerror or error}", hint)]
    except DataError as error:
        return [Problem(str(path), problem.what, problem.hint) for problem in error.problems]
    if len(problems) > _MAX_PROBLEMS:
        more = Problem(str(path), f"and {len(problems) - _MAX_PROBLEMS:,} more problems")
        return [*problems[:_MAX_PROBLEMS], more]
    if not (problems or lines or unmatched):
        return [Problem(str(path), "has no thumbs", "look at the path")]
    return problems or Thumbs(form, lines, unmatched)


def _find_problems(row: json_lines.JsonLine, matcher: ThumbMatcher) -> Iterator[Problem]:
    data, hint = row.data, '{"question": "id or text", "thumb": "up", "cell": "...", "comment": ""}'
    question, cell = data.get("question"), data.get("cell")
    if not isinstance(question, str) or not question.strip():
        yield Problem("", "has no `question`", hint)
    if _parse_thumb(data.get("thumb")) is None:
        message = f"`thumb` is {str(data.get('thumb'))[: limits.MAX_VALUE_QUOTE_CHARS]!r}"
        yield Problem("", message, "up or down; or 1 or -1, true or false")
    for key in ("comment", "user"):
        if not isinstance(data.get(key, ""), str | int | None):
            yield Problem("", f"`{key}` is no text", hint)
    if len(str(data.get("comment") or "")) > limits.MAX_COMMENT_CHARS:
        yield Problem(
            "", f"`comment` has more than {limits.MAX_COMMENT_CHARS:,} characters", "shorten it"
        )
    try:
        _parse_time(data)
    except ValueError as error:
        message = (
            f"`time` is {str(data['time'])[: limits.MAX_VALUE_QUOTE_CHARS]!r}: {str(error)[:80]}"
        )
        yield Problem("", message, "write it as 2026-01-31T12:00:00Z, or leave it out")
    if cell and cell not in matcher.cells:
        yield Problem("", f"cell {str(cell)[:80]!r} is not in the run", suggest("", matcher.cells))
    if not cell and matcher.cell is None:
        message = "names no cell, and the run has several"
        yield Problem("", message, f"name one: --cell NAME; {suggest('', matcher.cells)}")


def _parse_thumb(value: Any) -> bool | None:
    text = str(value).strip().lower() if isinstance(value, str | int) else ""
    return True if text in _UP else False if text in _DOWN else None


def _parse_time(data: Mapping[str, Any]) -> str:
    time = data.get("time")
    if not isinstance(time, str | None):
        raise ValueError("it is no text")
    return parse_moment(time) if time else ""


def _thumb_rating(form: str, data: Mapping[str, Any], cell: str, question: str) -> AnswerRating:
    user = data.get("user")
    return AnswerRating(
        source="thumb",
        form=form,
        # Users are customers: who they are is nobody's business here, only who is the same.
        rater=fingerprint(str(user)) if user not in (None, "") else "",
        saved=_parse_time(data),
        cells=(cell,),
        question=question,
        thumb=_parse_thumb(data.get("thumb")),
        comment=str(data.get("comment") or "").strip(),
    )
