"""The file that a rating form saves, version 1."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError

from harness import limits
from harness.errors import DataError, Problem
from harness.files import reading
from harness.people.rating_records import Overall

_MAX_PROBLEMS = 20
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
    comment: str = Field(default="", max_length=limits.MAX_COMMENT_CHARS)

    @property
    def empty(self) -> bool:
        """Whether nothing was said."""
        grades = (*self.chunks, self.correctness, self.directness, self.completeness)
        rest = (self.helpfulness, self.overall, self.comment.strip() or None)
        return all(value is None for value in (*grades, *rest))


def parse_moment(text: str) -> str:
    """Return a moment in UTC, so that two can be compared.

    Raises:
        ValueError: it is none, or is more than a day ahead, which nothing later could replace.
    """
    moment = datetime.fromisoformat(text)
    try:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("it is out of range") from None
    if moment > datetime.now(UTC) + timedelta(days=1):
        raise ValueError("it is in the future")
    return moment.isoformat(timespec="milliseconds")


class SavedFile(_Saved):
    """What one person saved of one form."""

    harness_ratings: Literal[1]
    form: str
    rater: _Int
    name: str = Field(default="", max_length=limits.MAX_RATER_NAME_CHARS)
    saved: Annotated[str, AfterValidator(parse_moment)]
    items: list[SavedItem]


def read(path: Path) -> SavedFile | list[Problem]:
    """Return what a file holds, or all that is wrong with it."""
    try:
        if path.stat().st_size > limits.MAX_RATINGS_FILE_BYTES:
            megabytes = limits.MAX_RATINGS_FILE_BYTES // 1_000_000
            message = f"has more than {megabytes} MB, and no form saves as much"
            return [Problem(str(path), message, _HINT)]
        data: Any = reading.read_json(path)
    except OSError as error:
        hint = "look at the path"
        return [Problem(str(path), f"cannot be read: {error.strerror or error}", hint)]
    except DataError as error:
        return [
            Problem(str(path), problem.what, problem.hint or _HINT) for problem in error.problems
        ]
    if not isinstance(data, dict) or "harness_ratings" not in data:
        message = "is no file of ratings: it has no `harness_ratings`"
        return [Problem(str(path), message, f"{_HINT}; thumbs are .jsonl or .csv")]
    if data["harness_ratings"] != 1:
        message = f"is of version {str(data['harness_ratings'])[:20]!r}, and this harness reads 1"
        return [
            Problem(str(path), message, "read it by the version that made the form, or a newer one")
        ]
    try:
        return SavedFile.model_validate(data)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
        problems = [
            Problem(_describe_place(path, line["loc"]), line["msg"], _HINT)
            for line in errors[:_MAX_PROBLEMS]
        ]
        if len(errors) > _MAX_PROBLEMS:
            problems.append(
                Problem(str(path), f"and {len(errors) - _MAX_PROBLEMS:,} more problems")
            )
        return problems


def _describe_place(path: Path, where: tuple[int | str, ...]) -> str:
    """Return a place in a file in words: `file, item 3, correctness`."""
    parts = list(where)
    if len(parts) > 1 and parts[0] == "items" and isinstance(parts[1], int):
        parts[:2] = [f"item {parts[1] + 1}"]
    return ", ".join([str(path), *(str(part) for part in parts)])
