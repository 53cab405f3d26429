"""Merges new grades into a test set; only `documents` changes in its lines."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from harness.corpus import Corpus
from harness.errors import HarnessError, Problem
from harness.files import json_lines
from harness.files.new_files import check_new, write_file
from harness.people.pools.pool_reader import (
    Grade,
    KnownLabels,
    Labels,
    Settled,
    raise_problems,
    read,
)
from harness.testset.jsonl_questions import QuestionRow, describe_problems
from harness.text.numbers import count

_SEPARATORS = re.compile(r"[\s,:]*")


@dataclass(frozen=True)
class _TestsetLine:
    """One line of a test set: where it stands, what it asks, and what it judges."""

    index: int
    question: str
    documents: Mapping[str, int]


def import_labels(
    paths: Sequence[Path],
    testset: Path,
    out: Path | None = None,
    documents: Corpus | None = None,
    disagreements: Settled = "error",
    force: bool = False,
) -> str:
    """Write a test set with the grades of filled-in pools; return what was added, and where.

    No judgement that is there is changed. `out` is by default `testset` with `-judged` behind its
    name. Where `documents` is given, each document must be in it.

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
    known = KnownLabels(
        {id_: line.question for id_, line in lines.items()},
        None if documents is None else documents.documents,
    )
    labels = read(paths, known, disagreements)
    added, n_present = _find_new(labels.grades, lines)
    if not added:
        reason = (
            ", ".join(filter(None, _describe_skipped(labels, n_present))) or "the files are empty"
        )
        raise HarnessError(f"no new grade to add to {testset}: {reason}")
    write_file(out, _merge(testset, lines, added))
    return "\n".join([*_summary_lines(added, labels, n_present), str(out)])


def _read_lines(path: Path) -> dict[str, _TestsetLine]:
    """Return each question's line by its id."""
    lines: dict[str, _TestsetLine] = {}
    problems: list[Problem] = []
    for row in json_lines.rows(path):
        if isinstance(row, Problem):
            problems.append(row)
            continue
        try:
            data = QuestionRow.model_validate(row.data)
        except ValidationError as error:
            problems += describe_problems(row, error)
            continue
        id_ = data.id if data.id is not None else f"line-{row.line}"
        if id_ in lines:
            problems.append(Problem(row.where, f"the id {id_!r} is taken", "make each id unique"))
        lines[id_] = _TestsetLine(row.line - 1, data.question, data.documents or {})
    raise_problems(problems, str(path))
    return lines


def _find_new(
    grades: Sequence[Grade], lines: Mapping[str, _TestsetLine]
) -> tuple[dict[str, dict[str, int]], int]:
    """Return what is new by question and document, and how many the test set has already.

    Raises:
        DataError: with each grade that the test set gives otherwise.
    """
    added: dict[str, dict[str, int]] = {}
    problems: list[Problem] = []
    n_present = 0
    for grade in grades:
        old = lines[grade.question].documents.get(grade.doc)
        if old is None:
            added.setdefault(grade.question, {})[grade.doc] = grade.grade
        elif old == grade.grade:
            n_present += 1
        else:
            about = f"question {grade.question!r}, document {grade.doc!r}"
            message = f"{about}: the grade is {grade.grade}, and the test set says {old}"
            hint = "nothing is overwritten: take the line out, or change the test set"
            problems.append(Problem(grade.where, message, hint))
    raise_problems(problems, "labels")
    return added, n_present


def _merge(
    path: Path, lines: Mapping[str, _TestsetLine], added: Mapping[str, Mapping[str, int]]
) -> str:
    texts = path.read_bytes().decode("utf-8").split("\n")
    for id_, grades in added.items():
        line = lines[id_]
        texts[line.index] = with_documents(texts[line.index], {**line.documents, **grades})
    return "\n".join(texts)


def with_documents(line: str, documents: Mapping[str, int]) -> str:
    """Return a JSON object with these `documents`, and every other character as it is."""
    decode = json.JSONDecoder().raw_decode
    text = json.dumps(documents, ensure_ascii=False)
    position = end = line.index("{") + 1
    span: tuple[int, int] | None = None
    while line[position := _skip_separators(line, position)] != "}":
        key, position = decode(line, position)
        start = _skip_separators(line, position)
        _, position = decode(line, start)
        end = position
        if key == "documents":
            span = (start, end)
    if span is None:
        return f'{line[:end]}, "documents": {text}{line[end:]}'
    return line[: span[0]] + text + line[span[1] :]


def _skip_separators(line: str, position: int) -> int:
    match = _SEPARATORS.match(line, position)
    return position if match is None else match.end()


def _describe_skipped(labels: Labels, n_present: int) -> list[str]:
    return [
        f"{count(n_present, 'grade')} there already" if n_present else "",
        f"{count(labels.empty, 'line')} without a grade" if labels.empty else "",
    ]


def _summary_lines(
    added: Mapping[str, Mapping[str, int]], labels: Labels, n_present: int
) -> list[str]:
    grades = Counter(grade for by_document in added.values() for grade in by_document.values())
    total = count(sum(grades.values()), "grade")
    lines = [f"{total} added to {count(len(added), 'question')}"]
    lines += [f"  {', '.join(f'{times:,} x {grade}' for grade, times in sorted(grades.items()))}"]
    return [
        *lines,
        *(
            f"  {text}"
            for text in (*_describe_skipped(labels, n_present), labels.agreement)
            if text
        ),
    ]
