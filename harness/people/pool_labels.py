"""Reads pools that people filled in, and merges their grades into a test set."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, MinLen
from pydantic import BeforeValidator, TypeAdapter

from harness import limits
from harness.corpus import Corpus
from harness.errors import DataError, HarnessError, Problem, first_problems, suggest
from harness.files import data_rows, json_lines, reading
from harness.files.data_rows import DataRow
from harness.files.new_files import check_new, write_file
from harness.people.pool import mark
from harness.testset.jsonl_questions import ParsedRow, parse_rows
from harness.text.numbers import count, percentage

Settled = Literal["error", "lowest", "highest"]
"""What is done where people gave one document several grades."""

_HINT = (
    f"keep the columns that pool wrote, and write whole numbers from -1 to {limits.MAX_GRADE:,}, "
    "or nothing"
)


def _as_grade(value: Any) -> Any:
    """Take an empty cell for no grade, and refuse what pydantic would take for 1."""
    if isinstance(value, bool):
        raise ValueError("it is no number")
    return None if isinstance(value, str) and not value.strip() else value


@dataclass(frozen=True)
class _Label:
    """What is read of a line of a pool."""

    id: Annotated[str, MinLen(1)]
    doc: Annotated[str, MinLen(1)]
    item: str | None = None
    question: str | None = None
    grade: Annotated[
        Annotated[int, Ge(-1), Le(limits.MAX_GRADE)] | None, BeforeValidator(_as_grade)
    ] = None


@cache
def _label_type() -> TypeAdapter[_Label]:
    return TypeAdapter(_Label)


@dataclass(frozen=True)
class _Labels:
    """The grades of several files, one for each question and document."""

    grades: Mapping[tuple[str, str], int]
    n_empty: int
    agreement: str
    """How far several judges agree; "" where nothing was judged more than once."""


def import_labels(
    paths: Sequence[Path],
    testset: Path,
    out: Path | None = None,
    corpus: Corpus | None = None,
    disagreements: Settled = "error",
    force: bool = False,
) -> str:
    """Write a test set with the grades of filled-in pools; return what was added, and where.

    No judgement that is there is changed, nor a line without a new grade. `out` is by default
    `testset` with `-judged` behind its name. Where `corpus` is given, each document must be in it.

    Raises:
        DataError: with everything that is wrong with the labels, or with the test set.
        HarnessError: there is no new grade, or `out` is there already, or cannot be written.
    """
    if testset.suffix.lower() != ".jsonl" or testset.is_dir():
        raise HarnessError(
            f"{str(testset)!r} is no .jsonl test set\n"
            f"  make one of it first: python -m harness import FORMAT {testset} -o testset.jsonl"
        )
    out = out or testset.with_name(f"{testset.stem}-judged.jsonl")
    if out.suffix.lower() != ".jsonl":
        raise HarnessError(f"{str(out)!r} is no .jsonl file\n  name one: -o testset.jsonl")
    check_new([out], force)
    lines = _read_lines(testset)
    labels = _read_labels(paths, lines, corpus, disagreements)
    added: dict[str, dict[str, int]] = defaultdict(dict)
    for (id_, doc), grade in labels.grades.items():
        if doc not in (lines[id_].question.documents or {}):
            added[id_][doc] = grade
    by_grade = Counter(grade for grades in added.values() for grade in grades.values())
    n_present = len(labels.grades) - by_grade.total()
    skipped = [f"{count(n_present, 'grade')} there already"] if n_present else []
    skipped += [f"{count(labels.n_empty, 'line')} without a grade"] if labels.n_empty else []
    if not added:
        reason = ", ".join(skipped) or "the files are empty"
        raise HarnessError(f"no new grade to add to {testset}: {reason}")
    texts = reading.read_text(testset).split("\n")
    for id_, grades in added.items():
        row, documents = lines[id_].row, lines[id_].question.documents or {}
        data = {**row.data, "documents": {**documents, **grades}}
        texts[row.line - 1] = json.dumps(data, ensure_ascii=False)
    write_file(out, "\n".join(texts))
    return "\n".join(
        [
            f"{count(by_grade.total(), 'grade')} added to {count(len(added), 'question')}",
            f"  {', '.join(f'{times:,} x {grade}' for grade, times in sorted(by_grade.items()))}",
            *(f"  {text}" for text in (*skipped, labels.agreement) if text),
            str(out),
        ]
    )


def _read_lines(path: Path) -> dict[str, ParsedRow]:
    parsed = list(parse_rows(json_lines.rows(path)))
    problems = [item for item in parsed if isinstance(item, Problem)]
    if problems:
        raise DataError(str(path), first_problems(problems))
    return {item.id: item for item in parsed if isinstance(item, ParsedRow)}


def _read_labels(
    paths: Sequence[Path],
    lines: Mapping[str, ParsedRow],
    corpus: Corpus | None,
    disagreements: Settled,
) -> _Labels:
    """Read filled-in files; raises `DataError` with everything that is wrong with any of them."""
    problems: list[Problem] = []
    by_document: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    n_empty = 0
    for path in dict.fromkeys(paths):
        for row in data_rows.read_rows(path, _label_type(), _HINT):
            if isinstance(row, Problem):
                problems.append(row)
            elif row_problems := list(_find_problems(row, lines, corpus)):
                problems += row_problems
            elif row.value.grade is None:
                n_empty += 1
            else:
                by_document[row.value.id, row.value.doc].append((row.value.grade, row.where))
    several = {key: grades for key, grades in by_document.items() if len(grades) > 1}
    disagreed = {
        key: some for key, some in several.items() if len({grade for grade, _ in some}) > 1
    }
    agreement = ""
    if several:
        agreed = len(several) - len(disagreed)
        agreement = (
            f"{agreed:,} of {len(several):,} judged more than once have one grade "
            f"({percentage(agreed / len(several))})"
        )
    if disagreements == "error" and disagreed:
        for (question, doc), ((grade, where), *others) in disagreed.items():
            rest = ", ".join(f"{other} at {place}" for other, place in others)
            message = f"question {question!r}, document {doc!r}: {grade} here, {rest}"
            problems.append(Problem(where, message))
        hint = "settle them in the files, or take one: --disagreements lowest, or highest"
        problems.append(Problem("agreement", agreement, hint))
    if problems:
        raise DataError("labels", first_problems(problems))
    choose = max if disagreements == "highest" else min
    grades = {key: choose(some)[0] for key, some in by_document.items()}
    return _Labels(grades, n_empty, agreement)


def _find_problems(
    row: DataRow[_Label], lines: Mapping[str, ParsedRow], corpus: Corpus | None
) -> Iterator[Problem]:
    label = row.value
    if label.item and label.item != mark(label.id, label.doc):
        message = f"question {label.id!r} or document {label.doc!r} was changed since pool wrote it"
        yield Problem(row.where, message, "take `id` and `doc` from the file that pool wrote")
    elif label.id not in lines:
        hint = suggest(label.id, lines) if len(lines) < 20 else ""
        yield Problem(row.where, f"the test set has no question {label.id!r}", hint)
    elif label.question and label.question.split() != lines[label.id].question.question.split():
        message = f"question {label.id!r} is asked in other words in the test set"
        yield Problem(row.where, message, "take the test set that was pooled")
    elif corpus is not None and label.doc not in corpus.documents:
        message = f"the corpus has no document {label.doc!r}"
        yield Problem(row.where, message, "take `doc` as pool wrote it")
    elif label.grade is not None:
        old = (lines[label.id].question.documents or {}).get(label.doc, label.grade)
        if old != label.grade:
            about = f"question {label.id!r}, document {label.doc!r}"
            message = f"{about}: the grade is {label.grade}, and the test set says {old}"
            hint = "nothing is overwritten: take the line out, or change the test set"
            yield Problem(row.where, message, hint)
