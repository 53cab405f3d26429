"""`import ratings`: what people said of a run, added to it, and its report rendered again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from harness import report, rewriting, store
from harness.errors import DataError, HarnessError, Problem, suggest
from harness.numbers import count
from harness.people import reading
from harness.printable import printable
from harness.ratings import forms, thumbs
from harness.ratings.forms import Sheet
from harness.ratings.thumbs import Matcher, Thumbs
from harness.store import StoredRun
from harness.stored import RatingLine

_NAMED = 10


def import_files(paths: Sequence[Path], run: Path, cell: str | None = None) -> str:
    """Add files of ratings to the run in a folder; return an account of what was added.

    `.json` is what a rating form saved, `.jsonl` and `.csv` are thumbs; `cell` is what thumbs are
    about that name none. What a person saved later replaces what the same person saved of the same
    form before; nothing else is ever taken away. A thumb that says what one that is there says is
    that one, unless a file has it more often.

    Raises:
        DataError: the folder holds no run, or a file is wrong; nothing is changed then.
        HarnessError: there is no such cell, or the run cannot be written.
    """
    with rewriting.alone(run):
        return _added(paths, run, cell)


def _added(paths: Sequence[Path], run: Path, cell: str | None) -> str:
    stored = store.load(run)
    before = reading.everything(stored)
    names = [each.name for each in stored.run.cells]
    if cell is not None and cell not in names:
        raise HarnessError(f"--cell {cell!r} is not in the run\n  {suggest(cell, names)}")
    sheets, rows = _read(paths, stored, cell)
    said: list[str] = []
    lines = list(before)
    for sheet in sheets:
        lines = _with_sheet(lines, sheet, said)
    for some in rows:
        lines = _with_thumbs(lines, some, said)
    # Thumbs stay in the order of their import: the last one of a user is what counts.
    thumbed = [line for line in lines if line.source == "thumb"]
    rated = [line for line in lines if line.source == "form"]
    lines = [*sorted(rated, key=lambda line: (line.form, line.rater)), *thumbed]
    path = run / reading.RATINGS
    try:
        if lines:
            ratings = (f"{line.model_dump_json()}\n" for line in lines)
            rewriting.replace(run, {reading.RATINGS: ratings})
        written = report.write(run)
    except OSError as error:
        raise HarnessError(f"{str(run)!r} cannot be written: {error.strerror or error}") from None
    return "\n".join([*map(printable, said), str(path), *map(str, written)])


def _read(
    paths: Sequence[Path], stored: StoredRun, cell: str | None
) -> tuple[list[Sheet], list[Thumbs]]:
    """Return what the files hold; raises `DataError` with all that is wrong with any of them."""
    problems = [
        Problem(
            str(path), "is no .json, .jsonl or .csv file", "import what a form saved, or thumbs"
        )
        for path in paths
        if path.suffix.lower() not in (".json", ".jsonl", ".csv")
    ]
    saved = [path for path in paths if path.suffix.lower() == ".json"]
    sheets: list[Sheet] = []
    if saved:
        known, wrong = forms.keys(stored)
        sheets, more = forms.read(saved, known)
        problems += [*wrong, *more]
    rows: list[Thumbs] = []
    matcher = Matcher(stored, cell)
    for path in paths:
        if path.suffix.lower() in (".jsonl", ".csv"):
            found = thumbs.read(path, matcher)
            if isinstance(found, list):
                problems += found
            else:
                rows.append(found)
    if problems:
        raise DataError("the ratings", problems)
    return sheets, rows


def _with_sheet(lines: Sequence[RatingLine], sheet: Sheet, said: list[str]) -> list[RatingLine]:
    """Return the lines with one person's in the place of what they saved before."""
    who = ("form", sheet.form, sheet.rater)
    earlier = [line for line in lines if (line.source, line.form, line.rater) == who]
    name = f" ({sheet.name})" if sheet.name else ""
    about = f"form {sheet.form}, rater {sheet.rater}{name}: {count(len(sheet.lines), 'answer')}"
    if earlier and max(line.saved for line in earlier) > sheet.saved:
        said.append(f"{about}, saved before what is there already: left out")
        return list(lines)
    replaced = f", in place of {count(len(earlier), 'answer')} saved before" if earlier else ""
    said.append(about + replaced)
    others = [line for line in lines if (line.source, line.form, line.rater) != who]
    return [*others, *sheet.lines]


def _with_thumbs(lines: Sequence[RatingLine], found: Thumbs, said: list[str]) -> list[RatingLine]:
    """Return the lines with those thumbs of one file that are not there already."""
    there = Counter(_content(line) for line in lines if line.source == "thumb")
    fresh = []
    for line in found.lines:
        if there[_content(line)]:
            there[_content(line)] -= 1
        else:
            fresh.append(line)
    up = sum(bool(line.thumb) for line in found.lines)
    said.append(f"{found.form}: {count(len(found.lines), 'thumb')}, {up:,} up")
    if known := len(found.lines) - len(fresh):
        said.append(f"  {known:,} of them as imported before, left out: a `time` tells two apart")
    if found.unmatched:
        many = sum(found.unmatched.values())
        said.append(f"  {count(many, 'thumb')} on questions that the run was not asked, left out:")
        said += [f"    {text[:100]!r} ({n})" for text, n in list(found.unmatched.items())[:_NAMED]]
        if len(found.unmatched) > _NAMED:
            said.append(f"    and {count(len(found.unmatched) - _NAMED, 'more question')}")
    return [*lines, *fresh]


def _content(line: RatingLine) -> tuple[object, ...]:
    """Return what a thumb says, whichever file it came in."""
    return line.rater, line.cells[0], line.question, line.thumb, line.comment, line.saved
