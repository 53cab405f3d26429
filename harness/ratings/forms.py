"""What the files of rating forms say, looked up in the keys of those forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import from_json

from harness import stamped
from harness.errors import Problem, suggest
from harness.ratings import saved
from harness.ratings.saved import SavedFile, SavedItem
from harness.store import StoredRun
from harness.stored import FormFile, FormItemLine, RatedChunkLine, RatingLine

FORMS = "forms"


@dataclass(frozen=True)
class Sheet:
    """What one person saved of one form, and when."""

    form: str
    rater: str
    name: str
    saved: str
    lines: tuple[RatingLine, ...]


def keys(stored: StoredRun) -> tuple[dict[str, FormFile], list[Problem]]:
    """Return the keys of a run's forms by their ids, and what is wrong with any."""
    found: dict[str, FormFile] = {}
    problems: list[Problem] = []
    cells = {cell.name for cell in stored.run.cells}
    for path in sorted((stored.folder / FORMS).glob("*.json")):
        hint = "restore it from where the form was written"
        try:
            raw = path.read_bytes()
            key = FormFile.model_validate_json(raw)
        except (OSError, ValidationError) as error:
            said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            problems.append(Problem(str(path), f"is no key of a form: {said}", hint))
            continue
        if what := stamped.problem(from_json(raw)):
            problems.append(Problem(str(path), what, hint))
            continue
        strange = [
            item.item
            for item in key.items
            if item.question not in stored.questions or not cells.issuperset(item.cells)
        ]
        if key.run != stored.run.id or strange:
            what = f"is the key to a form of another run, {key.run!r}"
            if strange:
                what = f"item {strange[0]!r} names a question or a cell that the run lacks"
            problems.append(Problem(str(path), what, hint))
            continue
        found[key.id] = key
    return found, problems


def read(paths: Sequence[Path], known: Mapping[str, FormFile]) -> tuple[list[Sheet], list[Problem]]:
    """Return the ratings of each file, and all that is wrong with any."""
    found: list[Sheet] = []
    problems: list[Problem] = []
    for path in paths:
        file = saved.read(path)
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
        wrong = list(_wrong(path, file, key))
        if not wrong and all(each.empty for each in file.items):
            hint = "rate something in the form, and save it again"
            wrong = [Problem(str(path), "has no item that was rated", hint)]
        problems += wrong
        if not wrong:
            items = {item.item: item for item in key.items}
            lines = (_line(file, each, items[each.item]) for each in file.items if not each.empty)
            who = (file.form, str(file.rater), file.name.strip(), file.saved)
            found.append(Sheet(*who, tuple(lines)))
    return found, problems


def _wrong(path: Path, file: SavedFile, key: FormFile) -> Iterator[Problem]:
    hint = "import the file as the form saved it"
    if not 1 <= file.rater <= key.raters:
        yield Problem(f"{path}, rater", f"{file.rater} is not from 1 to {key.raters}", hint)
        return
    items = {item.item: item for item in key.items}
    seen: set[str] = set()
    for number, each in enumerate(file.items, start=1):
        where = f"{path}, item {number}"
        item = items.get(each.item)
        if item is None:
            yield Problem(where, f"{each.item[:80]!r} is not in the form", hint)
        elif each.item in seen:
            yield Problem(where, f"{each.item!r} is there twice", hint)
        elif file.rater not in item.raters:
            yield Problem(where, f"{each.item!r} was not given to rater {file.rater}", hint)
        elif each.chunks and len(each.chunks) != len(item.chunks):
            what = f"{len(each.chunks)} grades of chunks, and {each.item!r} has {len(item.chunks)}"
            yield Problem(where, what, hint)
        seen.add(each.item)


def _line(file: SavedFile, each: SavedItem, item: FormItemLine) -> RatingLine:
    graded = zip(item.chunks, each.chunks or [None] * len(item.chunks), strict=True)
    return RatingLine(
        source="form",
        form=file.form,
        item=each.item,
        rater=str(file.rater),
        name=file.name.strip(),
        saved=file.saved,
        cells=item.cells,
        question=item.question,
        chunks=[
            RatedChunkLine(span=span, grade=grade) for span, grade in graded if grade is not None
        ],
        correctness=each.correctness,
        directness=each.directness,
        completeness=each.completeness,
        helpfulness=each.helpfulness,
        overall=each.overall,
        comment=each.comment.strip(),
    )
