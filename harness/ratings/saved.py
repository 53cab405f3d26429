"""The file that a rating form saves, version 1."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError

from harness import wholefile
from harness.errors import DataError, Problem
from harness.stored import Overall

LARGEST = 20_000_000
"""Bytes of a file; a form of a thousand items with long comments has fewer."""
COMMENT = 10_000
"""Characters of a comment."""
NAME = 100
_MOST = 20
"""Problems that are named of one file."""

_Int = Annotated[int, Strict()]
_Grade = Annotated[_Int, Field(ge=0, le=3)] | None
_HINT = "import the file as the form saved it"


class _Saved(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SavedItem(_Saved):
    """One item as one person rated it; null: not rated."""

    item: str
    chunks: list[_Grade] = []
    correctness: _Grade = None
    directness: _Grade = None
    completeness: _Grade = None
    helpfulness: _Grade = None
    overall: Overall | None = None
    comment: str = Field(default="", max_length=COMMENT)

    @property
    def empty(self) -> bool:
        """Whether nothing was said."""
        kept = (*self.chunks, self.correctness, self.directness, self.completeness)
        rest = (self.helpfulness, self.overall, self.comment.strip() or None)
        return all(each is None for each in (*kept, *rest))


def moment(text: str) -> str:
    """Return a moment in UTC, so that two can be compared.

    Raises:
        ValueError: it is none, or is more than a day ahead, which nothing later could replace.
    """
    found = datetime.fromisoformat(text)
    try:
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except OverflowError:
        raise ValueError("it is out of range") from None
    if found > datetime.now(UTC) + timedelta(days=1):
        raise ValueError("it is in the future")
    return found.isoformat(timespec="milliseconds")


class SavedFile(_Saved):
    """What one person saved of one form."""

    harness_ratings: Literal[1]
    form: str
    rater: _Int
    name: str = Field(default="", max_length=NAME)
    saved: Annotated[str, AfterValidator(moment)]
    items: list[SavedItem]


def read(path: Path) -> SavedFile | list[Problem]:
    """Return what a file holds, or all that is wrong with it."""
    try:
        if path.stat().st_size > LARGEST:
            what = f"has more than {LARGEST // 1_000_000} MB, and no form saves as much"
            return [Problem(str(path), what, _HINT)]
        data: Any = wholefile.json(path)
    except OSError as error:
        hint = "look at the path"
        return [Problem(str(path), f"cannot be read: {error.strerror or error}", hint)]
    except DataError as error:
        return [Problem(str(path), each.what, each.hint or _HINT) for each in error.problems]
    if not isinstance(data, dict) or "harness_ratings" not in data:
        what = "is no file of ratings: it has no `harness_ratings`"
        return [Problem(str(path), what, f"{_HINT}; thumbs are .jsonl or .csv")]
    if data["harness_ratings"] != 1:
        what = f"is of version {str(data['harness_ratings'])[:20]!r}, and this harness reads 1"
        return [Problem(str(path), what, "pip install -U rag-eval-harness")]
    try:
        return SavedFile.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        problems = [
            Problem(_place(path, each["loc"]), each["msg"], _HINT) for each in found[:_MOST]
        ]
        if len(found) > _MOST:
            problems.append(Problem(str(path), f"and {len(found) - _MOST:,} more problems"))
        return problems


def _place(path: Path, where: tuple[int | str, ...]) -> str:
    """Return a place in a file in words: `file, item 3, correctness`."""
    parts = list(where)
    if len(parts) > 1 and parts[0] == "items" and isinstance(parts[1], int):
        parts[:2] = [f"item {parts[1] + 1}"]
    return ", ".join([str(path), *(str(part) for part in parts)])
