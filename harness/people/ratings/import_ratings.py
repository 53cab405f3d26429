"""`import ratings`: adds ratings to a run, and renders its report again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.errors import DataError, HarnessError, Problem
from harness.people import ratings_reader
from harness.people.rating_records import RATINGS_FORMAT, AnswerRating
from harness.people.ratings import form_results, thumbs
from harness.people.ratings.form_results import SavedForm
from harness.people.ratings.thumbs import ThumbMatcher, Thumbs
from harness.store import reader, rewriting
from harness.store.cell_labels import find_cell, parts_of
from harness.store.reader import StoredRun
from harness.text.escaping import make_printable
from harness.text.numbers import count

_MAX_QUESTIONS_LISTED = 10


def import_files(
    paths: Sequence[Path],
    run: Path,
    cell: str | None,
    render: Callable[[Path], Sequence[Path]],
) -> str:
    """Add files of ratings to the run in a folder; return an account of what was added.

    `.json` is what a rating form saved, `.jsonl` and `.csv` are thumbs; `cell` is what thumbs are
    about that name none. What a person saved later replaces what the same person saved of the same
    form before; nothing else is ever taken away. A thumb that says what one that is there says is
    that one, unless a file has it more often.

    Raises:
        DataError: the folder holds no run, or a file is wrong; nothing is changed then.
        HarnessError: there is no such cell, or the run cannot be written.
    """
    with rewriting.lock_run(run):
        return _import_files(paths, run, cell, render)


def _import_files(
    paths: Sequence[Path],
    run: Path,
    cell: str | None,
    render: Callable[[Path], Sequence[Path]],
) -> str:
    stored = reader.load(run)
    before = ratings_reader.read_all(stored)
    if cell is not None:
        cells = {run_cell.name: parts_of(run_cell) for run_cell in stored.run.cells}
        cell = find_cell(cell, cells, "--cell")
    sheets, thumb_files = _read(paths, stored, cell)
    messages: list[str] = []
    lines = list(before)
    for sheet in sheets:
        lines = _replace_form(lines, sheet, messages)
    for thumb_file in thumb_files:
        lines = _append_thumbs(lines, thumb_file, messages)
    # Thumbs stay in the order of their import: the last one of a user is what counts.
    thumbed = [line for line in lines if line.source == "thumb"]
    rated = [line for line in lines if line.source == "form"]
    lines = [*sorted(rated, key=lambda line: (line.form, line.rater)), *thumbed]
    path = run / ratings_reader.RATINGS
    try:
        if lines:
            ratings = map(RATINGS_FORMAT.line, lines)
            rewriting.replace(run, {ratings_reader.RATINGS: ratings})
        written = render(run)
    except OSError as error:
        raise HarnessError(f"{str(run)!r} cannot be written: {error.strerror or error}") from None
    return "\n".join([*map(make_printable, messages), str(path), *map(str, written)])


def _read(
    paths: Sequence[Path], stored: StoredRun, cell: str | None
) -> tuple[list[SavedForm], list[Thumbs]]:
    """Return what the files hold; raises `DataError` with all that is wrong with any of them."""
    problems = [
        Problem(
            str(path), "is no .json, .jsonl or .csv file", "import what a form saved, or thumbs"
        )
        for path in paths
        if path.suffix.lower() not in (".json", ".jsonl", ".csv")
    ]
    saved = [path for path in paths if path.suffix.lower() == ".json"]
    sheets: list[SavedForm] = []
    if saved:
        keys, key_problems = form_results.read_keys(stored)
        sheets, form_problems = form_results.read(saved, keys)
        problems += [*key_problems, *form_problems]
    thumb_files: list[Thumbs] = []
    matcher = ThumbMatcher(stored, cell)
    for path in paths:
        if path.suffix.lower() in (".jsonl", ".csv"):
            result = thumbs.read(path, matcher)
            if isinstance(result, list):
                problems += result
            else:
                thumb_files.append(result)
    if problems:
        raise DataError("the ratings", problems)
    return sheets, thumb_files


def _replace_form(
    lines: Sequence[AnswerRating], sheet: SavedForm, messages: list[str]
) -> list[AnswerRating]:
    """Return the lines with one person's in the place of what they saved before."""
    who = ("form", sheet.form, sheet.rater)
    earlier = [line for line in lines if (line.source, line.form, line.rater) == who]
    name = f" ({sheet.name})" if sheet.name else ""
    about = f"form {sheet.form}, rater {sheet.rater}{name}: {count(len(sheet.lines), 'answer')}"
    if earlier and max(line.saved for line in earlier) > sheet.saved:
        messages.append(f"{about}, saved before what is there already: left out")
        return list(lines)
    replaced = f", in place of {count(len(earlier), 'answer')} saved before" if earlier else ""
    messages.append(about + replaced)
    others = [line for line in lines if (line.source, line.form, line.rater) != who]
    return [*others, *sheet.lines]


def _append_thumbs(
    lines: Sequence[AnswerRating], thumb_file: Thumbs, messages: list[str]
) -> list[AnswerRating]:
    """Return the lines with those thumbs of one file that are not there already."""
    present = Counter(_thumb_content(line) for line in lines if line.source == "thumb")
    fresh = []
    for line in thumb_file.lines:
        if present[_thumb_content(line)]:
            present[_thumb_content(line)] -= 1
        else:
            fresh.append(line)
    up = sum(bool(line.thumb) for line in thumb_file.lines)
    messages.append(f"{thumb_file.form}: {count(len(thumb_file.lines), 'thumb')}, {up:,} up")
    if repeated := len(thumb_file.lines) - len(fresh):
        messages.append(
            f"  {repeated:,} of them as imported before, left out: a `time` tells two apart"
        )
    if thumb_file.unmatched:
        many = sum(thumb_file.unmatched.values())
        messages.append(
            f"  {count(many, 'thumb')} on questions that the run was not asked, left out:"
        )
        messages += [
            f"    {text[:100]!r} ({n})"
            for text, n in list(thumb_file.unmatched.items())[:_MAX_QUESTIONS_LISTED]
        ]
        if len(thumb_file.unmatched) > _MAX_QUESTIONS_LISTED:
            n_more = len(thumb_file.unmatched) - _MAX_QUESTIONS_LISTED
            messages.append(f"    and {count(n_more, 'more question')}")
    return [*lines, *fresh]


def _thumb_content(line: AnswerRating) -> tuple[object, ...]:
    """Return what a thumb says, whichever file it came in."""
    return line.rater, line.cells[0], line.question, line.thumb, line.comment, line.saved
