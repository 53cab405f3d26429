"""The library: compare runs or frames, judge a run by its gate, and read runs over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from harness import framed
from harness.baselines import named_sides
from harness.baselines.reading import rounded
from harness.comparing.comparison import Comparison, Options
from harness.comparing.refusals import Allowed
from harness.comparing.runs import comparison
from harness.comparing.sides import Incomparable, Side
from harness.errors import HarnessError, one_of
from harness.evaluation import Evaluation
from harness.frames import is_frame
from harness.gate import gating
from harness.gate.verdicts import Judged
from harness.history.series import History, history
from harness.statistics.families import Correction
from harness.statistics.paired_tests import Chosen

if TYPE_CHECKING:
    from harness.frames import DataFrame

Named: TypeAlias = str | Path
Scores: TypeAlias = "Named | DataFrame | Evaluation"


def compare(
    before: Scores,
    after: Scores | None = None,
    metrics: str | Sequence[str] = (),
    pairs: str | Sequence[str] = (),
    test: Chosen = "sign-flip",
    correction: Correction = "holm",
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
        correction: "holm", or "bh" for the false discovery rate.
        allow: compare what is shared though these differ: "testset", "corpus", "metrics".

    Raises:
        HarnessError: an argument is not known, or a baseline, metric or cell is not there.
        DataError: a run or a baseline cannot be read, or a frame holds no scores of questions.
        Incomparable: a run did not finish, or the two cannot be compared.
    """
    options = Options(
        metrics=_listed(metrics),
        pairs=_listed(pairs),
        allow=[one_of(each, "allow", get_args(Allowed)) for each in _listed(allow)],
        test=one_of(test, "test", get_args(Chosen)),
        correction=one_of(correction, "correction", get_args(Correction)),
    )
    return comparison(*_sides(before, after), options)


def apply_gate(
    run: Named,
    rules: Mapping[str, Any] | None = None,
    baseline: Named | None = None,
) -> Judged:
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
    return gating.judged(Path(run), rules, None if baseline is None else str(baseline))


def read_history(
    reports: Named = "reports",
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
    return history(Path(reports), _listed(metrics), _listed(cells), every_night=every_night)


def _sides(before: Scores, after: Scores | None) -> tuple[Side, Side]:
    if after is None:
        if not isinstance(before, str | Path):
            hint = "give what is compared with it: compare(before, after)"
            raise HarnessError(f"before: it stands alone, and is no run's folder\n  {hint}")
        return named_sides.both(str(before), None)
    if isinstance(before, Evaluation) and isinstance(after, Evaluation):
        _same_labels(before, after)
    read = {
        name: named_sides.one(str(given))
        for name, given in (("before", before), ("after", after))
        if isinstance(given, str | Path)
    }
    left = read.get("before") or _scored(before, "before", read.get("after"))
    right = read.get("after") or _scored(after, "after", read.get("before"))
    if any(side.stored is None for side in read.values()):
        left, right = rounded(left), rounded(right)
    return left, right


def _scored(given: object, name: str, other: Side | None) -> Side:
    """Return the side of what is no run: a frame or an evaluation."""
    if isinstance(given, Evaluation):
        return framed.of_evaluation(given, name, other)
    if is_frame(given):
        return framed.of_frame(given, name, other)
    raise HarnessError(
        f"{name}: a {type(given).__name__} cannot be compared\n  give a run's folder, a baseline's "
        "name or file, a pandas DataFrame, or what evaluate(...) returned"
    )


def _same_labels(before: Evaluation, after: Evaluation) -> None:
    if before.judged_by != after.judged_by:
        raise Incomparable(
            f"before was judged by {before.judged_by or 'nothing'}, after by "
            f"{after.judged_by or 'nothing'}\n  evaluate both with the same labels=..."
        )


def _listed(given: str | Sequence[str]) -> Sequence[str]:
    return [given] if isinstance(given, str) else given
