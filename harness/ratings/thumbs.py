"""Thumbs up and down from production: a file of JSON Lines, or CSV with a heading row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import filledin, jsonl, openfile
from harness.errors import DataError, Problem, suggest
from harness.fingerprint import fingerprint
from harness.ratings.saved import COMMENT, LARGEST, moment
from harness.relevance import folded
from harness.store import StoredRun
from harness.stored import RatingLine

_UP = frozenset({"up", "1", "true"})
_DOWN = frozenset({"down", "-1", "false"})
_MOST = 20


@dataclass(frozen=True)
class Thumbs:
    """The thumbs of one file in its order, and the questions in it that the run was not asked."""

    form: str
    lines: Sequence[RatingLine]
    unmatched: Mapping[str, int]


class Matcher:
    """Finds the question and the cell that a thumb is about."""

    def __init__(self, stored: StoredRun, cell: str | None) -> None:
        self.cells = [each.name for each in stored.run.cells]
        self.cell = cell if cell is not None or len(self.cells) > 1 else self.cells[0]
        self.ids = stored.questions.keys()
        self._by_text: dict[str, list[str]] = {}
        for line in stored.questions.values():
            self._by_text.setdefault(folded(line.text), []).append(line.id)
        self._asked = {(record.cell, record.question) for record in stored.records}

    def question(self, said: str) -> str | None:
        """Return the id of a question that is named by it, or by its text; None where none is."""
        if said in self.ids:
            return said
        found = self._by_text.get(folded(said), [])
        return found[0] if len(found) == 1 else None

    def answered(self, cell: str, question: str) -> bool:
        """Return whether the cell was asked the question."""
        return (cell, question) in self._asked


def read(path: Path, known: Matcher) -> Thumbs | list[Problem]:
    """Return the thumbs of a file, or all that is wrong with it."""
    problems: list[Problem] = []
    lines: list[RatingLine] = []
    unmatched: dict[str, int] = {}
    try:
        if path.stat().st_size > LARGEST:
            what = f"has more than {LARGEST // 1_000_000} MB"
            return [Problem(str(path), what, "import it in parts, each with a name of its own")]
        form = f"{path.name}@{hashlib.sha256(openfile.whole(path, LARGEST)).hexdigest()[:12]}"
        for row in filledin.rows(path):
            if isinstance(row, Problem):
                problems.append(Problem(f"{path}, {row.where}", row.what, row.hint))
                continue
            wrong = list(_wrong(row, known))
            if wrong:
                where = f"{path}, {row.where}"
                problems += [Problem(where, each.what, each.hint) for each in wrong]
                continue
            said = str(row.data["question"])
            question = known.question(said)
            cell = str(row.data.get("cell") or known.cell)
            if question is None or not known.answered(cell, question):
                unmatched[said] = unmatched.get(said, 0) + 1
                continue
            lines.append(_line(form, row.data, cell, question))
    except OSError as error:
        hint = "look at the path"
        return [Problem(str(path), f"cannot be read: {error.strerror or error}", hint)]
    except DataError as error:
        return [Problem(str(path), each.what, each.hint) for each in error.problems]
    if len(problems) > _MOST:
        more = Problem(str(path), f"and {len(problems) - _MOST:,} more problems")
        return [*problems[:_MOST], more]
    if not (problems or lines or unmatched):
        return [Problem(str(path), "has no thumbs", "look at the path")]
    return problems or Thumbs(form, lines, unmatched)


def _wrong(row: jsonl.Row, known: Matcher) -> Iterator[Problem]:
    data, hint = row.data, '{"question": "id or text", "thumb": "up", "cell": "...", "comment": ""}'
    question, cell = data.get("question"), data.get("cell")
    if not isinstance(question, str) or not question.strip():
        yield Problem("", "has no `question`", hint)
    if _thumb(data.get("thumb")) is None:
        what = f"`thumb` is {str(data.get('thumb'))[:40]!r}"
        yield Problem("", what, "up or down; or 1 or -1, true or false")
    for key in ("comment", "user"):
        if not isinstance(data.get(key, ""), str | int | None):
            yield Problem("", f"`{key}` is no text", hint)
    if len(str(data.get("comment") or "")) > COMMENT:
        yield Problem("", f"`comment` has more than {COMMENT:,} characters", "shorten it")
    try:
        _time(data)
    except ValueError as error:
        what = f"`time` is {str(data['time'])[:40]!r}: {str(error)[:80]}"
        yield Problem("", what, "write it as 2026-01-31T12:00:00Z, or leave it out")
    if cell and cell not in known.cells:
        yield Problem("", f"cell {str(cell)[:80]!r} is not in the run", suggest("", known.cells))
    if not cell and known.cell is None:
        what = "names no cell, and the run has several"
        yield Problem("", what, f"name one: --cell NAME; {suggest('', known.cells)}")


def _thumb(value: Any) -> bool | None:
    said = str(value).strip().lower() if isinstance(value, str | int) else ""
    return True if said in _UP else False if said in _DOWN else None


def _time(data: Mapping[str, Any]) -> str:
    time = data.get("time")
    if not isinstance(time, str | None):
        raise ValueError("it is no text")
    return moment(time) if time else ""


def _line(form: str, data: Mapping[str, Any], cell: str, question: str) -> RatingLine:
    user = data.get("user")
    return RatingLine(
        source="thumb",
        form=form,
        # Users are customers: who they are is nobody's business here, only who is the same.
        rater=fingerprint(str(user)) if user not in (None, "") else "",
        saved=_time(data),
        cells=[cell],
        question=question,
        thumb=_thumb(data.get("thumb")),
        comment=str(data.get("comment") or "").strip(),
    )
