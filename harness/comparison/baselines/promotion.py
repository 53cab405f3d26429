"""Promotes a stored run to a baseline: writes who promoted it, when, why, and its scores."""

from __future__ import annotations

import getpass
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from harness.comparison import operand as operands
from harness.comparison.baselines.baseline_file import DIGITS, BaselineFile, PromotedRun
from harness.comparison.baselines.baseline_reader import (
    Baseline,
    baseline_path,
    check_name,
    read,
)
from harness.comparison.operand import (
    Floats,
    Incomparable,
    Operand,
    OperandCell,
    ScoreColumn,
    merge_cells,
)
from harness.comparison.refusals import list_reasons
from harness.files import new_files
from harness.files.checksums import add_checksum
from harness.metrics.named_metrics import stored_total
from harness.records import Failure, Score
from harness.stats.aggregate_scores import aggregate
from harness.store.cell_labels import find_cell, parts_of
from harness.store.cell_results import CellResult
from harness.store.frame import STATES, UNKNOWN
from harness.store.reader import StoredRun, load

_INDENTED_LEVELS = 3
"""Levels of the file that have a line for each of their parts."""
_MAX_REASONS = 3
_SCORED = STATES.index("scored")


def promote(
    folders: Sequence[Path], name: str, cell: str | None = None, why: str = "", force: bool = False
) -> Baseline:
    """Make the runs in `folders` the baseline of a name, with one `cell` of them or all.

    Of several runs each question's means are kept.

    Raises:
        HarnessError: the name cannot be a baseline's, there is no such cell, or the file cannot be
            written.
        DataError: a folder holds no run, or a damaged one.
        Incomparable: a run did not finish or has failures, and it is not forced; or the runs are
            not of one corpus, test set, metrics and cells.
    """
    check_name(name)
    runs = sorted((load(folder) for folder in folders), key=lambda stored: stored.run.started)
    cells = [_select_cells(stored, cell) for stored in runs]
    for stored, selected in zip(runs, cells, strict=True):
        if not force and (reasons := _find_failures(stored, selected)):
            raise Incomparable(
                f"{stored.folder} is no run to promote: {'; '.join(reasons)}\n"
                "  promote one that finished without failures; or all the same, with --force"
            )
    sides = [operands.operand_from_run(stored, finished=False) for stored in runs]
    _refuse_unlike(runs, sides, cells)
    text = _serialise(_build_file(runs, sides, cells, name, why))
    new_files.write_file(baseline_path(name), text)
    reused = [(stored.run.id, stored.run.describe_reused()) for stored in runs if len(runs) > 1]
    return replace(read(name), reused=tuple(f"{id_}: {text}" for id_, text in reused if text))


def _serialise(held: BaselineFile) -> str:
    """Return the file as text: a line for each metric of a cell, each question, each setting."""
    data = held.model_dump(mode="json", by_alias=True)
    data["questions"] = {
        id_: {key: field for key, field in question.items() if field is not None}
        for id_, question in data["questions"].items()
    }
    return "".join(_json_pieces(add_checksum(_without_zero_decimals(data)), 0)) + "\n"


def _json_pieces(value: Any, depth: int) -> Iterator[str]:
    """Yield JSON, in which what holds lists or mappings is opened."""
    parts = list(value.values()) if isinstance(value, dict) else value
    opened = isinstance(value, dict | list) and any(isinstance(part, dict | list) for part in parts)
    if not opened or depth > _INDENTED_LEVELS:
        yield json.dumps(value, ensure_ascii=False, allow_nan=False)
        return
    indent = "\n" + " " * (depth + 1)
    yield "{" if isinstance(value, dict) else "["
    for position, (key, part) in enumerate(zip(value, parts, strict=True)):
        yield ("," if position else "") + indent
        if isinstance(value, dict):
            yield f"{json.dumps(key, ensure_ascii=False)}: "
        yield from _json_pieces(part, depth + 1)
    yield "\n" + " " * depth + ("}" if isinstance(value, dict) else "]")


def _without_zero_decimals(value: Any) -> Any:
    """Return a JSON value whose whole numbers are integers: `1` and not `1.0`."""
    if isinstance(value, dict):
        return {key: _without_zero_decimals(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_zero_decimals(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _build_file(
    runs: Sequence[StoredRun],
    sides: Sequence[Operand],
    cells: Sequence[Sequence[CellResult]],
    name: str,
    why: str,
) -> BaselineFile:
    newest = sides[-1]
    questions = {id_: question for side in sides for id_, question in side.questions.items()}
    joined = replace(newest, questions=questions)
    places = [joined.places([*side.questions]) for side in sides]
    data = {
        "schema": 2,
        "name": name,
        "by": _current_user(),
        "on": datetime.now(UTC).isoformat(timespec="seconds"),
        "why": why,
        "forced": any(map(_find_failures, runs, cells)),
        "runs": [
            {key: getattr(stored.run, key) for key in PromotedRun.model_fields} for stored in runs
        ],
        "config": newest.config,
        "provenance": newest.provenance,
        "questions": {id_: asdict(question) for id_, question in questions.items()},
        "cells": [
            _cell_data(
                cell,
                [
                    merge_cells([(side.cells[cell.name], own)], len(questions))
                    for side, own in zip(sides, places, strict=True)
                ],
                joined,
                _failures(runs, cell.name),
            )
            for cell in cells[-1]
        ],
    }
    return BaselineFile.model_validate(data)


def _failures(runs: Sequence[StoredRun], cell: str) -> dict[str, Failure]:
    """Return why each question failed in the last run in which it did."""
    return {
        trace.question: trace.error
        for stored in runs
        for trace in stored.frame.at(stored.places(cell)).traces
        if trace.error is not None
    }


def _cell_data(
    newest: CellResult,
    cells: Sequence[OperandCell],
    joined: Operand,
    failures: Mapping[str, Failure],
) -> dict[str, Any]:
    """Return a cell of the file, as the newest run has it: its values are the means of `cells`.

    A question failed where it failed in each run that asked it.
    """
    asked = np.any([cell.asked for cell in cells], axis=0)
    failed = asked & np.all([cell.failed | ~cell.asked for cell in cells], axis=0)
    columns = {
        name: _mean_column([cell.columns[name] for cell in cells])
        for name in joined.provenance.metrics
    }
    aggregates = newest.scores
    if len(cells) > 1:
        aggregates = {
            name: aggregate(
                column.scores(), stored_total(joined.provenance.metrics[name]), joined.clusters
            )
            for name, column in columns.items()
        }
    seconds, tokens = (
        _mean_rows([cell.spent[kind] for cell in cells]).tolist() for kind in ("seconds", "tokens")
    )
    return {
        "name": newest.name,
        "parts": cells[-1].parts,
        "fingerprint": newest.fingerprint,
        "floor": newest.floor,
        "asked": int(asked.sum()),
        "failed": int(failed.sum()),
        "failures": {
            id_: failures[id_]
            for id_, is_failed in zip(joined.questions, failed.tolist(), strict=True)
            if is_failed
        },
        "seconds": [None if isnan(value) else float(f"{value:.3g}") for value in seconds],
        "tokens": [None if isnan(value) else round(value) for value in tokens],
        "scores": {
            name: {
                **{key: _round_float(value) for key, value in asdict(about).items()},
                "values": [_stored_value(score) for score in columns[name].scores()],
            }
            for name, about in aggregates.items()
        },
    }


def _mean_column(columns: Sequence[ScoreColumn]) -> ScoreColumn:
    """Return the means of one metric over the runs that scored a question, else the last state."""
    states = columns[0].states
    for column in columns[1:]:
        states = np.where((column.states == UNKNOWN) | (states == _SCORED), states, column.states)
    return ScoreColumn(_mean_rows([column.values for column in columns]), states)


def _mean_rows(arrays: Sequence[Floats]) -> Floats:
    """Return the mean of several arrays of one shape, of what is known in each place."""
    values = np.stack(arrays)
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    sums = np.where(known, values, 0.0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _stored_value(score: Score) -> Any:
    if score.state in ("failed", "metric_failed"):
        return score.state
    return [round(count, DIGITS) for count in score.counts] or _round_float(score.value)


def _round_float(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


def _select_cells(stored: StoredRun, name: str | None) -> list[CellResult]:
    cells = {cell.name: cell for cell in stored.run.cells}
    if name is None:
        return [*cells.values()]
    parts = {name: parts_of(cell) for name, cell in cells.items()}
    return [cells[find_cell(name, parts, str(stored.folder))]]


def _refuse_unlike(
    runs: Sequence[StoredRun], sides: Sequence[Operand], cells: Sequence[Sequence[CellResult]]
) -> None:
    """Raise `Incomparable` unless all are different runs of one kind."""
    newest, last = sides[-1], runs[-1]
    metrics = newest.provenance.metrics.keys()
    for number, (stored, side) in enumerate(zip(runs[:-1], sides, strict=False)):
        own_metrics = side.provenance.metrics.keys()
        reasons = [lines[0] for _, lines in list_reasons(side, newest, metrics & own_metrics)]
        if odd := sorted(metrics ^ own_metrics):
            reasons.append(f"only one of them has the metric {odd[0]!r}")
        if stored.run.id in [other.run.id for other in runs[number + 1 :]]:
            reasons = ["it is the same run"]
        names = [{cell.name for cell in some} for some in (cells[number], cells[-1])]
        if odd := sorted(names[0] ^ names[1]):
            reasons.append(f"only one of them has the cell {odd[0]!r}")
        if reasons:
            raise Incomparable(
                f"{stored.folder} and {last.folder} make no baseline together: "
                f"{'; '.join(reasons)}\n  name runs of one configuration"
            )


def _find_failures(stored: StoredRun, cells: Sequence[CellResult]) -> list[str]:
    """Return why a run is not fit to be a baseline."""
    reasons = [] if stored.run.status == "finished" else [f"it is {stored.run.status}"]
    if (part := stored.run.sample) is not None:
        reasons.append(f"it asked a sample of {part.size:,} of {part.of:,} questions")
    else:
        about, asked = stored.run.provenance.testset, len(stored.questions)
        total = about.get("of") or about.get("questions") or 0
        if asked < total:
            reasons.append(f"it asked only {asked:,} of the {total:,} questions of the test set")
    for cell in cells:
        unmeasured = max((line.metric_failed for line in cell.scores.values()), default=0)
        if cell.failed:
            reasons.append(f"{cell.failed} of {cell.asked} questions failed in {cell.name}")
        if unmeasured:
            reasons.append(f"a metric failed on {unmeasured} questions in {cell.name}")
    more = len(reasons) - _MAX_REASONS
    return [*reasons[:_MAX_REASONS], *([f"and {more} more"] if more > 0 else [])]


def _current_user() -> str:
    """Return who runs this, as git knows them, or else their login; "" where that is not known."""
    with suppress(OSError, subprocess.SubprocessError):
        command = ["git", "config", "user.name"]
        reply = subprocess.run(command, capture_output=True, timeout=10, check=True)
        if name := reply.stdout.decode("utf-8", "replace").strip():
            return name
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return ""
