"""New grades into a test set: its lines stay as they are but for `documents`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from harness import jsonl
from harness.corpus import Corpus
from harness.errors import HarnessError, Problem
from harness.newfiles import check_new, put
from harness.numbers import count
from harness.pools.reading import Grade, Known, Labels, Settled, read, refuse
from harness.testset.jsonl import QuestionRow, problems_of

_BETWEEN = re.compile(r"[\s,:]*")


@dataclass(frozen=True)
class _Line:
    """One line of a test set: where it stands, what it asks, and what it judges."""

    at: int
    asked: str
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
    lines = _lines(testset)
    known = Known(
        {id_: line.asked for id_, line in lines.items()},
        None if documents is None else documents.documents,
    )
    labels = read(paths, known, disagreements)
    added, there = _new(labels.grades, lines)
    if not added:
        said = ", ".join(filter(None, _left(labels, there))) or "the files are empty"
        raise HarnessError(f"no new grade to add to {testset}: {said}")
    put(out, _merged(testset, lines, added))
    return "\n".join([*_account(added, labels, there), str(out)])


def _lines(path: Path) -> dict[str, _Line]:
    """Return each question's line by its id."""
    found: dict[str, _Line] = {}
    problems: list[Problem] = []
    for row in jsonl.rows(path):
        if isinstance(row, Problem):
            problems.append(row)
            continue
        try:
            data = QuestionRow.model_validate(row.data)
        except ValidationError as error:
            problems += problems_of(row, error)
            continue
        id_ = data.id if data.id is not None else f"line-{row.line}"
        if id_ in found:
            problems.append(Problem(row.where, f"the id {id_!r} is taken", "make each id unique"))
        found[id_] = _Line(row.line - 1, data.question, data.documents or {})
    refuse(problems, str(path))
    return found


def _new(
    grades: Sequence[Grade], lines: Mapping[str, _Line]
) -> tuple[dict[str, dict[str, int]], int]:
    """Return what is new by question and document, and how many the test set has already.

    Raises:
        DataError: with each grade that the test set gives otherwise.
    """
    added: dict[str, dict[str, int]] = {}
    problems: list[Problem] = []
    there = 0
    for each in grades:
        old = lines[each.question].documents.get(each.doc)
        if old is None:
            added.setdefault(each.question, {})[each.doc] = each.grade
        elif old == each.grade:
            there += 1
        else:
            of = f"question {each.question!r}, document {each.doc!r}"
            what = f"{of}: the grade is {each.grade}, and the test set says {old}"
            hint = "nothing is overwritten: take the line out, or change the test set"
            problems.append(Problem(each.where, what, hint))
    refuse(problems, "labels")
    return added, there


def _merged(path: Path, lines: Mapping[str, _Line], added: Mapping[str, Mapping[str, int]]) -> str:
    texts = path.read_bytes().decode("utf-8").split("\n")
    for id_, grades in added.items():
        line = lines[id_]
        texts[line.at] = with_documents(texts[line.at], {**line.documents, **grades})
    return "\n".join(texts)


def with_documents(line: str, documents: Mapping[str, int]) -> str:
    """Return a JSON object with these `documents`, and every other character as it is."""
    decode = json.JSONDecoder().raw_decode
    text = json.dumps(documents, ensure_ascii=False)
    at = end = line.index("{") + 1
    place: tuple[int, int] | None = None
    while line[at := _after(line, at)] != "}":
        key, at = decode(line, at)
        start = _after(line, at)
        _, at = decode(line, start)
        end = at
        if key == "documents":
            place = (start, end)
    if place is None:
        return f'{line[:end]}, "documents": {text}{line[end:]}'
    return line[: place[0]] + text + line[place[1] :]


def _after(line: str, at: int) -> int:
    found = _BETWEEN.match(line, at)
    return at if found is None else found.end()


def _left(labels: Labels, there: int) -> list[str]:
    return [
        f"{count(there, 'grade')} there already" if there else "",
        f"{count(labels.empty, 'line')} without a grade" if labels.empty else "",
    ]


def _account(added: Mapping[str, Mapping[str, int]], labels: Labels, there: int) -> list[str]:
    grades = Counter(grade for each in added.values() for grade in each.values())
    total = count(sum(grades.values()), "grade")
    lines = [f"{total} added to {count(len(added), 'question')}"]
    lines += [f"  {', '.join(f'{times:,} x {grade}' for grade, times in sorted(grades.items()))}"]
    return [*lines, *(f"  {each}" for each in (*_left(labels, there), labels.agreement) if each)]
