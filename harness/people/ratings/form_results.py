"""Reads saved rating forms and resolves their items through the keys of the forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import from_json

from harness.errors import Problem, suggest
from harness.files import self_checksum
from harness.people.rating_records import FORM_KEYS, AnswerRating, FormFile, FormItem, RatedChunk
from harness.people.ratings import saved_forms
from harness.people.ratings.saved_forms import SavedFile, SavedItem
from harness.store.reader import StoredRun

FORMS = "forms"


@dataclass(frozen=True)
class SavedForm:
    """What one person saved of one form, and when."""

    form: str
    rater: str
    name: str
    saved: str
    lines: tuple[AnswerRating, ...]


def read_keys(stored: StoredRun) -> tuple[dict[str, FormFile], list[Problem]]:
    """Return the keys of a run's forms by their ids, and what is wrong with any."""
    keys: dict[str, FormFile] = {}
    problems: list[Problem] = []
    cells = {cell.name for cell in stored.run.cells}
    for path in sorted((stored.folder / FORMS).glob("*.json")):
        hint = "restore it from where the form was written"
        try:
            raw = path.read_bytes()
            key = FORM_KEYS.parse(raw)
        except (OSError, ValidationError) as error:
            detail = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            problems.append(Problem(str(path), f"is no key of a form: {detail}", hint))
            continue
        if message := self_checksum.find_problem(from_json(raw)):
            problems.append(Problem(str(path), message, hint))
            continue
        unknown = [
            item.item
            for item in key.items
            if item.question not in stored.questions or not cells.issuperset(item.cells)
        ]
        if key.run != stored.run.id or unknown:
            message = f"is the key to a form of another run, {key.run!r}"
            if unknown:
                message = f"item {unknown[0]!r} names a question or a cell that the run lacks"
            problems.append(Problem(str(path), message, hint))
            continue
        keys[key.id] = key
    return keys, problems


def read(
    paths: Sequence[Path], known: Mapping[str, FormFile]
) -> tuple[list[SavedForm], list[Problem]]:
    """Return the ratings of each file, and all that is wrong with any."""
    forms: list[SavedForm] = []
    problems: list[Problem] = []
    for path in paths:
        file = saved_forms.read(path)
        if isinstance(file, list):
            problems += file
            continue
        key = known.get(file.form)
        if key is None:
            hint = "name the run that its form was written from: --run RUN"
            if known:
                hint += f"; {suggest(file.form[:80], known)}"
            problems.append(
                Problem(str(path), f"form {file.form[:80]!r} is none of this run", hint)
            )
            continue
        file_problems = list(_find_problems(path, file, key))
        if not file_problems and all(saved.empty for saved in file.items):
            hint = "rate something in the form, and save it again"
            file_problems = [Problem(str(path), "has no item that was rated", hint)]
        problems += file_problems
        if not file_problems:
            items = {item.item: item for item in key.items}
            lines = (
                _answer_rating(file, saved, items[saved.item])
                for saved in file.items
                if not saved.empty
            )
            who = (file.form, str(file.rater), file.name.strip(), file.saved)
            forms.append(SavedForm(*who, tuple(lines)))
    return forms, problems


def _find_problems(path: Path, file: SavedFile, key: FormFile) -> Iterator[Problem]:
    hint = "import the file as the form saved it"
    if not 1 <= file.rater <= key.raters:
        yield Problem(f"{path}, rater", f"{file.rater} is not from 1 to {key.raters}", hint)
        return
    items = {item.item: item for item in key.items}
    seen: set[str] = set()
    for number, saved in enumerate(file.items, start=1):
        where = f"{path}, item {number}"
        item = items.get(saved.item)
        if item is None:
            yield Problem(where, f"{saved.item[:80]!r} is not in the form", hint)
        elif saved.item in seen:
            yield Problem(where, f"{saved.item!r} is there twice", hint)
        elif file.rater not in item.raters:
            yield Problem(where, f"{saved.item!r} was not given to rater {file.rater}", hint)
        elif saved.chunks and len(saved.chunks) != len(item.chunks):
            message = (
                f"{len(saved.chunks)} grades of chunks, and {saved.item!r} has {len(item.chunks)}"
            )
            yield Problem(where, message, hint)
        seen.add(saved.item)


def _answer_rating(file: SavedFile, saved: SavedItem, item: FormItem) -> AnswerRating:
    graded = zip(item.chunks, saved.chunks or [None] * len(item.chunks), strict=True)
    return AnswerRating(
        source="form",
        form=file.form,
        item=saved.item,
        rater=str(file.rater),
        name=file.name.strip(),
        saved=file.saved,
        cells=item.cells,
        question=item.question,
        chunks=tuple(
            RatedChunk(span=span, grade=grade) for span, grade in graded if grade is not None
        ),
        correctness=saved.correctness,
        directness=saved.directness,
        completeness=saved.completeness,
        helpfulness=saved.helpfulness,
        overall=saved.overall,
        comment=saved.comment.strip(),
    )
