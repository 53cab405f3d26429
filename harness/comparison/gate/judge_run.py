"""Applies a gate: loads the run, its rules and its baseline, and judges the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from harness.comparison import operand
from harness.comparison.baselines import baseline_reader
from harness.comparison.baselines.baseline_reader import Absent
from harness.comparison.gate import judgement, pooling
from harness.comparison.gate.gate_verdicts import GateResult
from harness.comparison.operand import Incomparable, Operand
from harness.config.gate_rules import Gate, find_rule_problems, is_path
from harness.config.resolved import RunConfig
from harness.config.source import SourceMap
from harness.errors import ConfigError, DataError, HarnessError, Problem
from harness.files.yaml_lines import YamlFile
from harness.store.reader import RUN, StoredRun


def judge_run(
    folder: Path,
    rules: Gate | Mapping[str, Any] | None = None,
    baseline: str | None = None,
    run: Operand | None = None,
) -> GateResult:
    """Return what a gate says of the run in `folder`; no file of the run is changed.

    `rules`, made or in the form of a configuration, are by default those of the run's own.
    `baseline`, a name or a file, takes the place of the one that they name. `run` is the run itself
    where it was read already.

    Raises:
        HarnessError: the run has no gate, its own names a file, or the baseline is not there.
        ConfigError: rules in the form of a configuration are wrong.
        DataError: the run or the baseline is damaged.
        Incomparable: the run did not finish, or the two cannot be compared.
    """
    run = run or operand.read(folder)
    if rules is None:
        rules = stored_gate(run.config, folder)
        if rules is not None and baseline is None and is_path(rules.baseline):
            raise HarnessError(
                f"{folder}: its gate's baseline is a file, {rules.baseline!r}, and a stored run "
                f"cannot choose what is read\n  if it is meant: --baseline {rules.baseline}"
            )
    elif not isinstance(rules, Gate):
        rules = parse_rules(rules, run)
    if rules is None:
        raise HarnessError(
            f"{folder}: its configuration has no gate\n  name one that has: --config CONFIG"
        )
    if baseline is not None:
        rules = replace(rules, baseline=baseline)
    rules = rules.with_full_name({name: cell.parts for name, cell in run.cells.items()})
    assert run.stored is not None
    if reused := run.stored.run.describe_reused():
        raise Incomparable(
            f"{folder}: {reused}; a gate judges only what was replied to the run itself\n"
            "  run it again, with the gate in its configuration or --set reuse=false"
        )
    pool = pooling.pool_runs(folder, rules.pool, run)
    result = judgement.judge(rules, pool.operand, load_baseline(rules))
    return replace(result, notes=(str(pool), *result.notes)) if str(pool) else result


def require_gate(config: RunConfig) -> Gate:
    """Return the gate of a configuration.

    Raises:
        ConfigError: it has none.
    """
    if config.settings.gate is None:
        hint = "add one: `gate: {fail_if: {metric: recall@5, drop_more_than: 0.02}}`"
        raise ConfigError(config.shown, [Problem(config.where("gate"), "there is none", hint)])
    return config.settings.gate


def load_baseline(rules: Gate) -> Operand | None:
    """Return the baseline that a gate's rules are about; None where none needs one.

    Raises:
        Absent: it is not there.
        DataError: it is damaged.
    """
    return baseline_reader.read(rules.baseline).operand if rules.fail_if else None


def warn_if_no_baseline(rules: Gate, note: Callable[[str], None]) -> None:
    """Say before a run that its baseline is not there, so that it will not be judged.

    Raises:
        DataError: it is there, and damaged.
    """
    try:
        load_baseline(rules)
    except Absent as error:
        note(f"the run will not be judged: {error}")


def judge_finished_run(stored: StoredRun, rules: Gate) -> GateResult:
    """Return what a gate says of a run that has just ended, with the `problem` if it cannot."""
    folder = stored.folder
    try:
        return judge_run(folder, rules, run=operand.operand_from_run(stored))
    except Incomparable as error:
        problem = f"{error}\nthe run was not judged; it is stored in {folder}"
    except HarnessError as error:
        message = (
            f"{error}\nthe run was not judged; it is stored, and can be once this is put right"
        )
        problem = f"{message}: python -m harness gate {folder}"
    return GateResult(stored.run.id, None, problem=problem)


def stored_gate(config: Mapping[str, Any], folder: Path) -> Gate | None:
    """Return the gate of a stored configuration; None where it has none.

    Raises:
        DataError: it is damaged.
    """
    resolved = config.get("resolved")
    data = resolved.get("gate") if isinstance(resolved, Mapping) else None
    try:
        return None if data is None else TypeAdapter(Gate).validate_python(data)
    except ValidationError as error:
        message = f"config.resolved.gate: {error.errors()[0]['msg']}"
        raise DataError(str(folder), [Problem(RUN, message, "run it again")]) from None


class _Rules(BaseModel):
    """Refuses unknown keys as a configuration does, in the gate too."""

    model_config = ConfigDict(extra="forbid")

    gate: Gate


def parse_rules(rules: Mapping[str, Any], run: Operand) -> Gate:
    """Return the gate that `rules` make, fit for a run.

    Raises:
        ConfigError: with all that is wrong, and its place under `gate`.
    """
    file = YamlFile({}, {})
    try:
        gate = _Rules.model_validate({"gate": rules}).gate
    except ValidationError as error:
        problems = [
            replace(SourceMap(file, {}, _Rules).to_problem(issue), where=file.where(issue["loc"]))
            for issue in error.errors()
        ]
        raise ConfigError("rules", problems) from None
    kinds = {name: about.kind for name, about in run.provenance.metrics.items()}
    parts = {name: cell.parts for name, cell in run.cells.items()}
    problems = list(find_rule_problems(gate, kinds, parts, lambda *place: file.where(place)))
    if problems:
        raise ConfigError("rules", problems)
    return gate
