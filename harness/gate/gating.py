"""A stored run, its gate and its baseline brought together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from harness import reach
from harness.baselines import reading
from harness.baselines.reading import Absent
from harness.comparing import sides
from harness.comparing.sides import Incomparable, Side
from harness.config import RunConfig
from harness.errors import ConfigError, DataError, HarnessError, Problem, SpecError
from harness.gate import given, judgement, pooling
from harness.gate.verdicts import Judged
from harness.reach import Reach
from harness.rules import Gate, is_path
from harness.store import RUN


def judged(
    folder: Path, rules: Gate | Mapping[str, Any] | None = None, baseline: str | None = None
) -> Judged:
    """Return what a gate says of the run in `folder`.

    `rules`, made or in the form of a configuration, are by default those of the run's own.
    `baseline`, a name or a file, takes the place of the one that they name.

    Raises:
        HarnessError: the run has no gate, or the baseline is not there.
        ConfigError: rules in the form of a configuration are wrong.
        DataError: the run or the baseline is damaged.
        Incomparable: the run did not finish, or the two cannot be compared.
    """
    run = sides.read(folder)
    if rules is None:
        rules = gate_of(run.config, folder)
        if rules is not None and baseline is None and is_path(rules.baseline):
            _check_within(rules.baseline, folder)
    elif not isinstance(rules, Gate):
        rules = given.checked(rules, run)
    if rules is None:
        raise HarnessError(
            f"{folder}: its configuration has no gate\n  name one that has: --config CONFIG"
        )
    if baseline is not None:
        rules = replace(rules, baseline=baseline)
    pool = pooling.pooled(folder, rules.pool, run)
    found = judgement.judge(rules, pool.side, baseline_of(rules))
    return replace(found, notes=(str(pool), *found.notes)) if str(pool) else found


def _check_within(path: str, folder: Path) -> None:
    """Raise `HarnessError` where a stored run names a baseline out of the project."""
    try:
        Reach(folder, anywhere=reach.allowed(os.environ)).check(path)
    except SpecError as error:
        raise HarnessError(
            f"{folder}: its gate's baseline {error.what}\n  if it is meant: --baseline {path}"
        ) from None


def needed(config: RunConfig) -> Gate:
    """Return the gate of a configuration.

    Raises:
        ConfigError: it has none.
    """
    if config.settings.gate is None:
        hint = "add one: `gate: {fail_if: {metric: recall@5, drop_more_than: 0.02}}`"
        raise ConfigError(config.shown, [Problem(config.where("gate"), "there is none", hint)])
    return config.settings.gate


def baseline_of(rules: Gate) -> Side | None:
    """Return the baseline that a gate's rules are about; None where none needs one.

    Raises:
        Absent: it is not there.
        DataError: it is damaged.
    """
    return reading.read(rules.baseline).side if rules.fail_if else None


def foretold(rules: Gate | None, note: Callable[[str], None]) -> None:
    """Say before a run that its baseline is not there, so that it will not be judged.

    Raises:
        DataError: it is there, and damaged.
    """
    try:
        if rules is not None:
            baseline_of(rules)
    except Absent as error:
        note(f"the run will not be judged: {error}")


def at_the_end(folder: Path, rules: Gate) -> Judged:
    """Return what a gate says of a run that has just ended.

    Raises:
        Incomparable: it cannot be judged; it is stored all the same.
    """
    try:
        return judged(folder, rules)
    except Incomparable as error:
        raise Incomparable(f"{error}\nthe run was not judged; it is stored in {folder}") from None
    except HarnessError as error:
        told = f"{error}\nthe run was not judged; it is stored, and can be once this is put right"
        raise Incomparable(f"{told}: python -m harness gate {folder}") from None


def gate_of(config: Mapping[str, Any], folder: Path) -> Gate | None:
    """Return the gate of a stored configuration; None where it has none.

    Raises:
        DataError: it is damaged.
    """
    resolved = config.get("resolved")
    data = resolved.get("gate") if isinstance(resolved, Mapping) else None
    try:
        return None if data is None else TypeAdapter(Gate).validate_python(data)
    except ValidationError as error:
        what = f"config.resolved.gate: {error.errors()[0]['msg']}"
        raise DataError(str(folder), [Problem(RUN, what, "run it again")]) from None
