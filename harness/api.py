"""Functions behind the commands and `import harness`: check, run, compare, gate, history."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from harness.errors import HarnessError, one_of

if TYPE_CHECKING:
    from harness.cache.folders import Cache
    from harness.comparison.gate.gate_verdicts import GateResult
    from harness.comparison.history.series import History
    from harness.comparison.operand import Operand
    from harness.comparison.refusals import Allowed
    from harness.config.gate_rules import Gate
    from harness.models.chat import ChatModel
    from harness.preflight.checks import Finding
    from harness.report.comparison import Comparison
    from harness.report.gate import JudgedGate
    from harness.report.run_result import Run
    from harness.report.run_view import View
    from harness.runs.artefacts import Progress
    from harness.runs.evaluation import Evaluation
    from harness.runs.run_inputs import RunInputs
    from harness.stats.corrections import Correction
    from harness.stats.difference_estimate import MeanTest
    from harness.store.dataframes import DataFrame
    from harness.store.reader import StoredRun
    from harness.store.run_file import RunFile

PathOrName: TypeAlias = str | Path
Scores: TypeAlias = "PathOrName | DataFrame | Evaluation"


@dataclass(frozen=True)
class FinishedRun:
    """What a run came to: its folder, its `run.json`, and the view that its reports have of it.

    `gate` is what its gate came to, where it was judged.
    """

    folder: Path
    run: RunFile
    view: View
    gate: GateResult | None = None


def check(prepared: RunInputs, progress: Progress) -> list[Finding]:
    """Return all that can be known of a run before anything is spent on it, errors first.

    Documents are cut into chunks, and the cache keeps them; an existing collection is read.

    Raises:
        HarnessError: a model, the collection or the cache cannot be used.
    """
    from harness.preflight import checks
    from harness.runs import runner

    with runner.open_for_check(prepared, progress) as (artefacts, cache, collections):
        return checks.run_checks(
            prepared, artefacts, cache, collections, deep=True, progress=progress
        )


def run(
    prepared: RunInputs,
    progress: Progress,
    fresh: bool = False,
    note: Callable[[str], None] = lambda text: None,
    gate: Gate | None = None,
) -> FinishedRun:
    """Check a run, run every cell over every question, store it, and write the reports.

    A finished run is judged by the rules of `gate`, and the reports open with what that came to.

    What the cache has is used, so that a run that was broken off goes on where it was, as `note`
    is reported; not with `fresh`.

    Raises:
        HarnessError: a model or the output folder is not there, a check found an error, or the run
            would cost more than it may; nothing has been written.
        RunError: too many questions failed; what was done is stored, with its reports.
        KeyboardInterrupt: on Ctrl-C; what was done is stored, with its reports.
    """
    from harness import report
    from harness.preflight import checks, cost
    from harness.report import preflight_blocks, terminal
    from harness.report.charts.svg import check_memory
    from harness.report.run_view import View
    from harness.runs import runner

    views: list[View] = []
    results: list[GateResult] = []

    def render(stored: StoredRun, cache: Cache) -> None:
        if gate is not None and stored.run.status == "finished":
            from harness.comparison.gate import gate_verdicts, judge_run

            results.append(judge_run.judge_finished_run(stored, gate))
            gate_verdicts.write_gate(stored, results[-1])
        view = View(stored, cache.table("charts", tuple[str, str], {}, counted=False))
        report.write_reports(view)
        views.append(view)

    check_memory()
    with runner.open_run(prepared, progress, fresh) as opened:
        config, cache, collections = opened.prepared.config, opened.cache, opened.collections
        findings = checks.run_checks(
            opened.prepared, opened.artefacts, cache, collections, progress=progress
        )
        checks.refuse_errors(findings)
        warnings = [finding for finding in findings if finding.level == "warning"]
        for warning in warnings:  # whole, they stand at the end
            note(f"warning: {warning.brief}")
        costs = cost.forecast(opened.prepared, True, cache, collections, fresh, progress)
        cost.refuse_costly(costs, config)
        said = [*preflight_blocks.to_do(costs), *preflight_blocks.limits(costs, config.settings)]
        for line in terminal.render(said).splitlines():
            note(line)
        stored = opened.run([str(warning) for warning in warnings], progress, note, render)
    return FinishedRun(stored.folder, stored.run, views[-1], next(iter(results), None))


def run_config(
    config: PathOrName | Mapping[str, Any],
    *,
    limit: int | None = None,
    fresh: bool = False,
    **overrides: Any,
) -> Run:
    """Run a configuration, as the command `run` does, and return what it came to.

    Progress is printed on stderr. The run is stored, with its reports; a gate that the
    configuration has is judged by `apply_gate`.

    Args:
        config: a file, or what would be in one; the paths of the latter start at the working
            directory.
        limit: ask the first so many questions alone.
        fresh: use nothing of earlier runs.
        overrides: keys of the configuration and their values, which win over it; two underscores
            lead deeper, as in `index__exact=True`. None unsets a key.

    Raises:
        ConfigError: with every problem of the configuration.
        HarnessError: as the command refuses or ends it.
    """
    from harness.config import run_config as configuration
    from harness.report import terminal
    from harness.report.run_result import Run
    from harness.runs import runner

    options = [f"{key.replace('__', '.')}={json.dumps(value)}" for key, value in overrides.items()]
    loaded = (
        configuration.load_mapping(config, options)
        if isinstance(config, Mapping)
        else configuration.load(Path(config), options)
    )
    with terminal.progress() as progress:
        finished = run(runner.prepare(loaded, limit, fresh), progress, fresh, progress.note)
    return Run(finished.view)


def open_run(folder: PathOrName) -> Run:
    """Read a stored run.

    Raises:
        DataError: the folder holds no run, or a damaged one.
    """
    from harness.report.run_result import Run
    from harness.report.run_view import View
    from harness.store.reader import load

    return Run(View(load(Path(folder))))


def score(
    folder: Path,
    metrics: Sequence[str] = (),
    judge: ChatModel | None = None,
    cache: Path | None = None,
) -> RunFile:
    """Score a stored run's answers and rankings again, and write its reports; see `rescore`."""
    from harness import report
    from harness.runs.rescore import rescore

    run = rescore(folder, metrics, judge, cache)
    report.write(folder)  # with nothing else of the run in memory
    return run


def import_ratings(paths: Sequence[Path], run: Path, cell: str | None = None) -> str:
    """Add what people said to a stored run, and write its reports; see `import_files`."""
    from harness import report
    from harness.people.import_ratings import import_files

    return import_files(paths, run, cell, report.write)


def compare(
    before: Scores,
    after: Scores | None = None,
    metrics: str | Sequence[str] = (),
    pairs: str | Sequence[str] = (),
    test: MeanTest = "sign-flip",
    correction: Correction | None = None,
    allow: Allowed | Sequence[Allowed] = (),
) -> Comparison:
    """Hold one side against another, question by question, as the command `compare` does.

    A side is a run's folder, a baseline's name or file, what `evaluate` returned, or a frame: a row
    a question, its id in the column `question` or the index, and a numeric column a metric, from 0
    to 1, missing where nothing was scored.

    Args:
        before: what is compared with.
        after: what is compared; None compares the cells of the run `before`.
        metrics: by these alone; fewer are a smaller family, and show more.
        pairs: "A=B", cell A of `before` against cell B of `after`. The cell of a frame or an
            evaluation is called "before" or "after".
        test: for graded scores: "sign-flip", "wilcoxon" or "t".
        correction: "holm", or "bh" for the false discovery rate; None: max-T, or Holm with a test
            that was named.
        allow: compare what is shared though these differ: "testset", "corpus", "metrics".

    Raises:
        HarnessError: an argument is not known, or a baseline, metric or cell is not there.
        DataError: a run or a baseline cannot be read, or a frame holds no scores of questions.
        Incomparable: a run did not finish, or the two cannot be compared.
    """
    from harness.comparison.compare_runs import Options, compare_operands
    from harness.comparison.refusals import Allowed
    from harness.report.comparison import Comparison
    from harness.stats.corrections import Correction
    from harness.stats.difference_estimate import MeanTest

    options = Options(
        metrics=_as_list(metrics),
        pairs=_as_list(pairs),
        allow=[one_of(name, "allow", get_args(Allowed)) for name in _as_list(allow)],
        test=one_of(test, "test", get_args(MeanTest)),
        correction=None
        if correction is None
        else one_of(correction, "correction", get_args(Correction)),
    )
    return Comparison(**vars(compare_operands(*_operands(before, after), options)))


def apply_gate(
    run: PathOrName,
    rules: Mapping[str, Any] | None = None,
    baseline: PathOrName | None = None,
) -> JudgedGate:
    """Judge a stored run by the rules of a gate, as the command `gate` does.

    Args:
        run: its folder.
        rules: as under `gate` in a configuration; None takes the run's own.
        baseline: a name or a file, in the place of the one that the rules name.

    Raises:
        ConfigError: the rules are wrong; all that is wrong is named.
        HarnessError: the run has no gate, or the baseline is not there.
        DataError: the run or the baseline is damaged.
        Incomparable: the run did not finish, or the two cannot be compared.
    """
    from harness.comparison.gate import judge_run
    from harness.report.gate import JudgedGate

    result = judge_run.judge_run(Path(run), rules, None if baseline is None else str(baseline))
    return JudgedGate(**vars(result))


def read_history(
    reports: PathOrName = "reports",
    metrics: str | Sequence[str] = (),
    cells: str | Sequence[str] = (),
    every_night: bool = False,
) -> History:
    """Read the runs stored in one folder as series over time, as the command `history` does.

    Args:
        reports: the folder that holds a folder for each run.
        metrics: their names; none: the newest run's, the deciding one first, 5 at most.
        cells: names, or parts of names; none: the newest run's, the best first, 6 at most.
        every_night: whether it is read each night, and false calls are to be rare over all of them.

    Raises:
        DataError: it is no folder, or no run is in it.
        HarnessError: no run has such a metric or cell.
    """
    from harness.comparison.history.series import history

    return history(Path(reports), _as_list(metrics), _as_list(cells), every_night=every_night)


def _operands(before: Scores, after: Scores | None) -> tuple[Operand, Operand]:
    from harness.comparison.baselines import baseline_reader

    if after is None:
        if not isinstance(before, str | Path):
            hint = "give what is compared with it: compare(before, after)"
            raise HarnessError(f"before: it stands alone, and is no run's folder\n  {hint}")
        return baseline_reader.load_operands(str(before), None)
    _check_same_labels(before, after)
    operands = {
        name: baseline_reader.load_operand(str(operand))
        for name, operand in (("before", before), ("after", after))
        if isinstance(operand, str | Path)
    }
    left = operands.get("before") or _scores_operand(before, "before", operands.get("after"))
    right = operands.get("after") or _scores_operand(after, "after", operands.get("before"))
    if any(side.stored is None for side in operands.values()):
        left, right = baseline_reader.round_scores(left), baseline_reader.round_scores(right)
    return left, right


def _scores_operand(scores: object, name: str, other: Operand | None) -> Operand:
    """Return the side of what is no run: a frame or an evaluation."""
    from harness.comparison import data_operand
    from harness.runs.evaluation import Evaluation
    from harness.store.dataframes import is_frame

    if isinstance(scores, Evaluation):
        return data_operand.operand_from_evaluation(scores, name, other)
    if is_frame(scores):
        return data_operand.operand_from_frame(scores, name, other)
    raise HarnessError(
        f"{name}: a {type(scores).__name__} cannot be compared\n  give a run's folder, "
        "a baseline's name or file, a pandas DataFrame, or what evaluate(...) returned"
    )


def _check_same_labels(before: Scores, after: Scores | None) -> None:
    from harness.comparison.operand import Incomparable
    from harness.runs.evaluation import Evaluation

    if not (isinstance(before, Evaluation) and isinstance(after, Evaluation)):
        return
    if before.judged_by != after.judged_by:
        raise Incomparable(
            f"before was judged by {before.judged_by or 'nothing'}, after by "
            f"{after.judged_by or 'nothing'}\n  evaluate both with the same labels=..."
        )


def _as_list(names: str | Sequence[str]) -> Sequence[str]:
    return [names] if isinstance(names, str) else names
