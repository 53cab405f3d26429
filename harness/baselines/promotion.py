"""A stored run to a baseline's file: who promoted it, when and why, and what it scored."""

from __future__ import annotations

import getpass
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness import newfiles
from harness.baselines.file import DIGITS, BaselineFile, RunHeld
from harness.baselines.reading import Baseline, checked_name, path_of, read, rounded
from harness.comparing import sides
from harness.comparing.sides import Incomparable, Result, SideCell
from harness.errors import HarnessError, suggest
from harness.stamped import stamped
from harness.store import StoredRun, load
from harness.stored import CellLine, ScoreLine

_OPENED = 3
"""Levels of the file that have a line for each of their parts."""
_NAMED = 3


def promote(
    folder: Path, name: str, cell: str | None = None, why: str = "", force: bool = False
) -> Baseline:
    """Make the run in `folder` the baseline of a name, with one `cell` of it or all.

    Raises:
        HarnessError: the name cannot be a baseline's, there is no such cell, or the file cannot be
            written.
        DataError: the folder holds no run, or a damaged one.
        Incomparable: the run did not finish or has failures, and it is not forced.
    """
    checked_name(name)
    sides.refuse_newer(folder)
    stored = load(folder)
    cells = _chosen(stored, cell)
    if not force:
        _refuse_failures(stored, cells)
    text = written(_file(stored, cells, name, why))
    newfiles.put(path_of(name), text)
    return read(name)


def written(held: BaselineFile) -> str:
    """Return the file as text: a line for each metric of a cell, each question, each setting."""
    data = held.model_dump(mode="json", by_alias=True)
    for id_, question in data["questions"].items():
        data["questions"][id_] = {key: each for key, each in question.items() if each is not None}
    return "".join(_pieces(stamped(_whole(data)), 0)) + "\n"


def _pieces(value: Any, depth: int) -> Iterator[str]:
    """Yield JSON; what holds lists or mappings is opened, and a whole number loses its `.0`."""
    parts = list(value.values()) if isinstance(value, dict) else value
    opened = isinstance(value, dict | list) and any(isinstance(each, dict | list) for each in parts)
    if not opened or depth > _OPENED:
        yield json.dumps(_whole(value), ensure_ascii=False, allow_nan=False)
        return
    indent = "\n" + " " * (depth + 1)
    yield "{" if isinstance(value, dict) else "["
    for at, each in enumerate(value):
        yield ("," if at else "") + indent
        if isinstance(value, dict):
            yield f"{json.dumps(each, ensure_ascii=False)}: "
            each = value[each]
        yield from _pieces(each, depth + 1)
    yield "\n" + " " * depth + ("}" if isinstance(value, dict) else "]")


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _file(stored: StoredRun, cells: Sequence[CellLine], name: str, why: str) -> BaselineFile:
    side = rounded(sides.of_run(stored, finished=False))
    run = stored.run
    data = {
        "schema": 1,
        "name": name,
        "by": _who(),
        "on": datetime.now(UTC).isoformat(timespec="seconds"),
        "why": why,
        "forced": bool(_failures(stored, cells)),
        "run": {key: getattr(run, key) for key in RunHeld.model_fields},
        "config": side.config,
        "provenance": side.provenance,
        "questions": {id_: asdict(asked) for id_, asked in side.questions.items()},
        "cells": [_cell(cell, side.cells[cell.name], list(side.questions)) for cell in cells],
    }
    return BaselineFile.model_validate(data)


def _cell(line: CellLine, cell: SideCell, questions: Sequence[str]) -> dict[str, Any]:
    found = [cell.results.get(id_, Result({})) for id_ in questions]
    return {
        "name": cell.name,
        "parts": cell.parts,
        "fingerprint": cell.fingerprint,
        "floor": cell.floor,
        "asked": line.asked,
        "failed": line.failed,
        "failures": {id_: each.error for id_, each in cell.results.items() if each.error},
        "seconds": [_brief(each.seconds) for each in found],
        "tokens": [each.tokens for each in found],
        "scores": {
            name: {
                **{key: _short(value) for key, value in about.model_dump().items()},
                "values": [_value(each.scores.get(name)) for each in found],
            }
            for name, about in line.scores.items()
        },
    }


def _value(line: ScoreLine | None) -> Any:
    if line is None:
        return None
    if line.state in ("failed", "judge_failed"):
        return line.state
    return line.counts or line.value


def _short(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


def _brief(seconds: float | None) -> float | None:
    return None if seconds is None else float(f"{seconds:.3g}")


def _chosen(stored: StoredRun, name: str | None) -> list[CellLine]:
    cells = [cell for cell in stored.run.cells if name in (None, cell.name)]
    if cells:
        return cells
    names = [cell.name for cell in stored.run.cells]
    raise HarnessError(
        f"{stored.folder}: no cell has the name {name!r}\n  {suggest(name or '', names)}"
    )


def _refuse_failures(stored: StoredRun, cells: Sequence[CellLine]) -> None:
    found = _failures(stored, cells)
    if found:
        raise Incomparable(
            f"{stored.folder} is no run to promote: {'; '.join(found)}\n"
            "  promote one that finished without failures; or all the same, with --force"
        )


def _failures(stored: StoredRun, cells: Sequence[CellLine]) -> list[str]:
    """Return why a run is not fit to be a baseline."""
    found = [] if stored.run.status == "finished" else [f"it is {stored.run.status}"]
    if (part := stored.run.sample) is not None:
        found.append(f"it asked a sample of {part.size:,} of {part.of:,} questions")
    else:
        about, asked = stored.run.provenance.testset, len(stored.questions)
        there = about.get("of") or about.get("questions") or 0
        if asked < there:
            found.append(f"it asked only {asked:,} of the {there:,} questions of the test set")
    for cell in cells:
        unjudged = max((line.judge_failed for line in cell.scores.values()), default=0)
        if cell.failed:
            found.append(f"{cell.failed} of {cell.asked} questions failed in {cell.name}")
        if unjudged:
            found.append(f"a judge gave up on {unjudged} questions in {cell.name}")
    more = len(found) - _NAMED
    return [*found[:_NAMED], *([f"and {more} more"] if more > 0 else [])]


def _who() -> str:
    """Return who runs this, as git knows them, or else their login; "" where that is not known."""
    command = ["git", "config", "user.name"]
    try:
        said = subprocess.run(command, capture_output=True, timeout=10, check=True)
        name = said.stdout.decode("utf-8", "replace").strip()
    except (OSError, subprocess.SubprocessError):
        name = ""
    if name:
        return name
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
