"""`import ratings`: adds ratings to a run, and renders its report again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from harness.errors import DataError, HarnessError, Problem
from harness.people import ratings, saved_forms, thumbs
from harness.people.ratings import (
    ASPECT_OF_METRIC,
    RATINGS,
    RATINGS_FORMAT,
    TOP_GRADE,
    AnswerRating,
    Aspect,
)
from harness.people.thumbs import ThumbMatcher, Thumbs
from harness.registry import parse
from harness.runs import people_labels
from harness.store import reader, rewriting
from harness.store.cell_labels import find_cell, parts_of
from harness.store.judge_cards import RunLabel
from harness.store.reader import LABELS, RUN, StoredRun
from harness.store.run_file import RUN_FORMAT
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
        stored = reader.load(run)
        lines = list(ratings.read_all(stored))
        if cell is not None:
            cells = {run_cell.name: parts_of(run_cell) for run_cell in stored.run.cells}
            cell = find_cell(cell, cells, "--cell")
        forms, thumb_files = _read(paths, stored, cell)
        messages: list[str] = []
        for form in forms:
            lines = _replace_form(lines, form, messages)
        for thumb_file in thumb_files:
            lines = _append_thumbs(lines, thumb_file, messages)
        # Thumbs stay in the order of their import: the last one of a user is what counts.
        thumbed = [line for line in lines if line.source == "thumb"]
        rated = [line for line in lines if line.source == "form"]
        lines = [*sorted(rated, key=lambda line: (line.form, line.rater)), *thumbed]
        try:
            if lines:
                rewriting.replace(run, _changed_files(stored, lines))
            written = render(run)
        except OSError as error:
            raise HarnessError(
                f"{str(run)!r} cannot be written: {error.strerror or error}"
            ) from None
    return "\n".join([*map(make_printable, messages), str(run / RATINGS), *map(str, written)])


def _changed_files(stored: StoredRun, lines: Sequence[AnswerRating]) -> dict[str, Iterable[str]]:
    """Return the files of a run that ratings change: they also label what a judge judged."""
    files: dict[str, Iterable[str]] = {RATINGS: map(RATINGS_FORMAT.line, lines)}
    kept = [label for label in people_labels.read_run_labels(stored) if not label.form]
    labels = [*kept, *form_labels(stored, lines)]
    if labels:
        files[LABELS] = list(map(people_labels.LABEL_FORMAT.line, labels))
        files[RUN] = [RUN_FORMAT.text(people_labels.correct_run(stored, labels))]
    return files


def form_labels(stored: StoredRun, lines: Sequence[AnswerRating]) -> Iterator[RunLabel]:
    """Yield what the ratings of forms are for each metric that asks a judge."""
    keys = saved_forms.read_keys(stored)[0]
    for name, about in stored.run.provenance.metrics.items():
        aspect = ASPECT_OF_METRIC.get(parse(about.spec)[0])
        if aspect is None:
            continue
        for line in lines:
            key = keys.get(line.form)
            if line.source != "form" or key is None or key.metric not in ("", name):
                continue
            for cell in line.cells:
                for hit, grade in _grades(stored, line, aspect, cell):
                    yield RunLabel(
                        metric=name,
                        cell=cell,
                        question=line.question,
                        hit=hit,
                        label=grade / TOP_GRADE,
                        rater=" ".join(line.person),
                        drawn=key.drawn,
                        form=line.form,
                    )


def _grades(
    stored: StoredRun, line: AnswerRating, aspect: Aspect, cell: str
) -> Iterator[tuple[int | None, float]]:
    """Yield the grade of an answer, or that of each rated hit with its rank."""
    if aspect != "chunks":
        grade = line.grade(aspect)
        if grade is not None:
            yield None, grade
        return
    record = stored.record(cell, line.question)
    spans = [(hit.doc, hit.start, hit.end) for hit in record.hits] if record else []
    for chunk in line.chunks:
        span = (chunk.span.doc, chunk.span.start, chunk.span.end)
        if span in spans:
            yield spans.index(span) + 1, chunk.grade


def _read(
    paths: Sequence[Path], stored: StoredRun, cell: str | None
) -> tuple[list[tuple[AnswerRating, ...]], list[Thumbs]]:
    """Return what the files hold; raises `DataError` with all that is wrong with any of them."""
    problems: list[Problem] = []
    saved: list[Path] = []
    thumb_files: list[Thumbs] = []
    matcher = ThumbMatcher(stored, cell)
    for path in paths:
        suffix = path.suffix.lower()
        if suffix == ".json":
            saved.append(path)
        elif suffix in (".jsonl", ".csv"):
            result = thumbs.read(path, matcher)
            if isinstance(result, Thumbs):
                thumb_files.append(result)
            else:
                problems += result
        else:
            message = "is no .json, .jsonl or .csv file"
            problems.append(Problem(str(path), message, "import what a form saved, or thumbs"))
    forms: list[tuple[AnswerRating, ...]] = []
    if saved:
        keys, key_problems = saved_forms.read_keys(stored)
        forms, form_problems = saved_forms.read(saved, keys)
        problems += [*key_problems, *form_problems]
    if problems:
        raise DataError("the ratings", problems)
    return forms, thumb_files


def _replace_form(
    lines: Sequence[AnswerRating], form: Sequence[AnswerRating], messages: list[str]
) -> list[AnswerRating]:
    """Return the lines with one person's in the place of what they saved before."""
    first = form[0]

    def is_same(line: AnswerRating) -> bool:
        return (line.source, line.form, line.rater) == ("form", first.form, first.rater)

    earlier = [line for line in lines if is_same(line)]
    name = f" ({first.name})" if first.name else ""
    about = f"form {first.form}, rater {first.rater}{name}: {count(len(form), 'answer')}"
    if earlier and max(line.saved for line in earlier) > first.saved:
        messages.append(f"{about}, saved before what is there already: left out")
        return list(lines)
    replaced = f", in place of {count(len(earlier), 'answer')} saved before" if earlier else ""
    messages.append(about + replaced)
    return [*(line for line in lines if not is_same(line)), *form]


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
