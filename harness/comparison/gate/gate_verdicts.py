"""Result of a gate, one verdict per rule and cell, and `gate.json`, which keeps it in the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from harness import limits
from harness.files import checksums
from harness.files.atomic import write_atomically
from harness.stats.difference_estimate import DifferenceEstimate
from harness.store.reader import RUN, StoredRun
from harness.store.record_format import RecordFormat

GATE = "gate.json"
_SCHEMA = 1

Outcome = Literal["pass", "regression", "missed", "cannot tell"]

DropReason = Literal["shown", "identical", "interval", "not seen", "strict", "by chance", "small"]
"""Why a drop rule has its outcome."""
LimitKind = Literal["mean", "corrected", "seconds", "tokens", "money", "failures"]


@dataclass(frozen=True)
class SeenDrop:
    """What a drop rule saw: the two means on the questions that both finished, and the test.

    `p` is that of "no drop" against "a drop", and `corrected` the same by Holm over the rules;
    `caught` is the smallest drop that the rule would have caught four times in five, None where
    there is none. `clusters` counts those of the questions, where whole ones are drawn. `limit` is
    the drop that the rule allows.
    """

    baseline: float
    run: float
    difference: DifferenceEstimate
    p: float
    corrected: float
    caught: float | None
    clusters: int | None
    limit: float
    reason: DropReason


@dataclass(frozen=True)
class SeenLimit:
    """What a limit saw: a mean with its interval, a cost of a question, or failures `of` so many.

    `value` is None where it is not known.
    """

    kind: LimitKind
    limit: float
    value: float | None
    low: float | None = None
    high: float | None = None
    of: int | None = None


@dataclass(frozen=True)
class RuleVerdict:
    """What one rule says of one cell: what it saw, or the `problem` for which it saw nothing.

    `missed` is of a limit. `failed` says whether the run fails by it. It is not `measured` where
    nothing scored the metric, or the metric failed too often: such a rule cannot tell, and the gate
    has no verdict.
    """

    rule: str
    cell: str
    outcome: Outcome
    failed: bool
    seen: SeenDrop | SeenLimit | None = None
    problem: str = ""
    measured: bool = True


@dataclass(frozen=True)
class GateResult:
    """What a gate came to. `family` counts the tests that were corrected together.

    `faults` say why nothing was judged, where too much failed for that, and `problem` where the
    rules could not be applied at all; `notes` what else to know. `baseline` is the run that it was
    held against, `started` when that began. `labels` are those of the judged cells, and `changes`
    their differences from the baseline by the run's deciding metric, where that is comparable.
    """

    run: str
    baseline: str | None
    verdicts: tuple[RuleVerdict, ...] = ()
    family: int = 0
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    started: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    changes: Mapping[str, DifferenceEstimate] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The exit status: 0 passed, 1 a rule failed, 3 it could not be judged."""
        if self.faults or self.problem:
            return 3
        if any(verdict.failed for verdict in self.verdicts):
            return 1
        return 0 if all(verdict.measured for verdict in self.verdicts) else 3

    @property
    def passed(self) -> bool:
        """Whether every rule was judged, and none failed."""
        return self.status == 0


def write_gate(stored: StoredRun, result: GateResult) -> None:
    """Write what a gate came to into the folder of a run, of the scores that the run has now.

    Raises:
        OSError: it cannot be written.
    """
    problem = result.problem.replace(str(stored.folder), stored.folder.name)
    gate = RecordFormat(GateResult).data(replace(result, problem=problem))
    content = {"schema": _SCHEMA, "data": (stored.sums or {}).get(RUN, ""), "gate": gate}
    text = json.dumps(checksums.add_checksum(content), indent=1, ensure_ascii=False)
    write_atomically(stored.folder / GATE, text + "\n")


def read_gate(stored: StoredRun) -> GateResult | None:
    """Return what a gate came to of a run's scores; None where nothing sound says so."""
    try:
        path = stored.folder / GATE
        if path.stat().st_size > limits.MAX_GATE_BYTES:
            return None
        content = json.loads(path.read_bytes())
        if checksums.find_own_problem(content) or content.get("schema") != _SCHEMA:
            return None
        if content["data"] != (stored.sums or {}).get(RUN, ""):  # it was scored again since
            return None
        return RecordFormat(GateResult).parse(json.dumps(content["gate"]))
    except (OSError, ValueError, RecursionError, KeyError, AttributeError):
        return None
