"""Reads what rating forms saved, and resolves their items through the keys of the forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import MaxLen
from pydantic import AfterValidator, ValidationError
from pydantic_core import from_json

from harness import limits
from harness.errors import Problem, first_problems, suggest
from harness.files import checksums, data_rows, reading
from harness.people.rating_forms import FORM_KEYS, FORMS, FormFile
from harness.people.ratings import ASPECTS, AnswerRating, Grade, Overall, RatedChunk
from harness.store.reader import StoredRun
from harness.store.record_format import RecordFormat

_MAX_PROBLEMS = 20
"""Problems that are named of one file."""
_HINT = "import the file as the form saved it; thumbs are .jsonl or .csv"


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


@dataclass(frozen=True, kw_only=True)
class _SavedItem:
    """One item as one person rated it; null: not rated."""

    item: str
    chunks: tuple[Grade | None, ...] = ()
    correctness: Grade | None = None
    directness: Grade | None = None
    completeness: Grade | None = None
    helpfulness: Grade | None = None
    overall: Overall | None = None
    comment: Annotated[str, MaxLen(limits.MAX_COMMENT_CHARS)] = ""


@dataclass(frozen=True, kw_only=True)
class _SavedFile:
    """What one person saved of one form: the file's version 1."""

    harness_ratings: Literal[1]
    form: str
    rater: int
    name: Annotated[str, MaxLen(limits.MAX_RATER_NAME_CHARS)] = ""
    saved: Annotated[str, AfterValidator(parse_moment)]
    items: tuple[_SavedItem, ...]


_SAVED = RecordFormat(_SavedFile)


def read_keys(stored: StoredRun) -> tuple[dict[str, FormFile], list[Problem]]:
    """Return the keys of a run's forms by their ids, and what is wrong with any."""
    keys: dict[str, FormFile] = {}
    problems: list[Problem] = []
    cells = {cell.name for cell in stored.run.cells}
    for path in sorted((stored.folder / FORMS).glob("*.json")):
        try:
            raw = path.read_bytes()
            key = FORM_KEYS.parse(raw)
            message = checksums.find_own_problem(from_json(raw))
            if not message and key.run != stored.run.id:
                message = f"is the key to a form of another run, {key.run!r}"
            for item in key.items:
                if item.question not in stored.questions or not cells.issuperset(item.cells):
                    message = (
                        message or f"item {item.item!r} names a question or a cell the run lacks"
                    )
            if not message:
                keys[key.id] = key
        except (OSError, ValidationError) as error:
            detail = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            message = f"is no key of a form: {detail}"
        if message:
            problems.append(Problem(str(path), message, "restore it from where it was written"))
    return keys, problems


def read(
    paths: Sequence[Path], keys: Mapping[str, FormFile]
) -> tuple[list[tuple[AnswerRating, ...]], list[Problem]]:
    """Return the ratings of each file, one or more, and all that is wrong with any."""
    forms: list[tuple[AnswerRating, ...]] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            file = _SAVED.parse(reading.read_whole(path, limits.MAX_RATINGS_FILE_BYTES))
        except OSError as error:
            message = f"cannot be read: {error.strerror or error}"
            problems.append(Problem(str(path), message, "look at the path"))
            continue
        except ValidationError as error:
            faults = list(data_rows.describe_faults(str(path), error, _HINT))
            problems += first_problems(faults, _MAX_PROBLEMS)
            continue
        resolved = list(_resolve(path, file, keys))
        ratings = tuple(line for line in resolved if isinstance(line, AnswerRating))
        file_problems = [line for line in resolved if isinstance(line, Problem)]
        if not file_problems and not ratings:
            hint = "rate something in the form, and save it again"
            file_problems.append(Problem(str(path), "has no item that was rated", hint))
        problems += file_problems
        if not file_problems:
            forms.append(ratings)
    return forms, problems


def _resolve(
    path: Path, file: _SavedFile, keys: Mapping[str, FormFile]
) -> Iterator[AnswerRating | Problem]:
    """Yield the rating of each item that was rated, or what is wrong with it."""
    key = keys.get(file.form)
    if key is None:
        hint = "name the run that its form was written from: --run RUN"
        hint += f"; {suggest(file.form, keys)}" if keys else ""
        yield Problem(str(path), f"form {file.form[:80]!r} is none of this run", hint)
        return
    if not 1 <= file.rater <= key.raters:
        message = f"{file.rater} is not from 1 to {key.raters}"
        yield Problem(f"{path}, rater", message, _HINT)
        return
    items = {item.item: item for item in key.items}
    seen: set[str] = set()
    for number, saved in enumerate(file.items, start=1):
        item, message = items.get(saved.item), ""
        if item is None:
            message = f"{saved.item[:80]!r} is not in the form"
        elif saved.item in seen:
            message = f"{saved.item!r} is there twice"
        elif file.rater not in item.raters:
            message = f"{saved.item!r} was not given to rater {file.rater}"
        elif saved.chunks and len(saved.chunks) != len(item.chunks):
            message = (
                f"{len(saved.chunks)} grades of chunks, and {saved.item!r} has {len(item.chunks)}"
            )
        seen.add(saved.item)
        if item is None or message:
            yield Problem(f"{path}, item {number}", message, _HINT)
            continue
        rating = AnswerRating(
            source="form",
            form=file.form,
            item=saved.item,
            rater=str(file.rater),
            name=file.name.strip(),
            saved=file.saved,
            cells=item.cells,
            question=item.question,
            chunks=tuple(
                RatedChunk(span=span, grade=grade)
                for span, grade in zip(item.chunks, saved.chunks, strict=False)
                if grade is not None
            ),
            correctness=saved.correctness,
            directness=saved.directness,
            completeness=saved.completeness,
            helpfulness=saved.helpfulness,
            overall=saved.overall,
            comment=saved.comment.strip(),
        )
        graded = any(rating.grade(aspect) is not None for aspect in ASPECTS)
        if graded or rating.comment:
            yield rating
