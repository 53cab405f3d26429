"""Reads and writes `gate.json`: what a gate came to, beside the run that it judged."""

from __future__ import annotations

import json
from dataclasses import replace

from harness import limits
from harness.comparison.gate.gate_verdicts import GateResult
from harness.files import self_checksum
from harness.files.atomic import write_atomically
from harness.store.reader import RUN, StoredRun
from harness.store.record_format import RecordFormat

NAME = "gate.json"
_SCHEMA = 1
_FORMAT = RecordFormat(GateResult)


def write(stored: StoredRun, result: GateResult) -> None:
    """Write what a gate came to into the folder of a run, of the scores that the run has now.

    Raises:
        OSError: it cannot be written.
    """
    problem = result.problem.replace(str(stored.folder), stored.folder.name)
    gate = _FORMAT.data(replace(result, problem=problem))
    content = {"schema": _SCHEMA, "data": _run_sum(stored), "gate": gate}
    text = json.dumps(self_checksum.add_checksum(content), indent=1, ensure_ascii=False)
    write_atomically(stored.folder / NAME, text + "\n")


def read(stored: StoredRun) -> GateResult | None:
    """Return what a gate came to of a run's scores; None where nothing sound says so."""
    try:
        path = stored.folder / NAME
        if path.stat().st_size > limits.MAX_GATE_BYTES:
            return None
        content = json.loads(path.read_bytes())
        if self_checksum.find_problem(content) or content.get("schema") != _SCHEMA:
            return None
        if content["data"] != _run_sum(stored):  # the run was scored again since
            return None
        return _FORMAT.parse(json.dumps(content["gate"]))
    except (OSError, ValueError, RecursionError, KeyError, AttributeError):
        return None


def _run_sum(stored: StoredRun) -> str:
    return (stored.sums or {}).get(RUN, "")
