"""From a run's differences to a decision: the best cell, how sure, and whether a cheaper one does.

Three families of tests. The best cell's difference from the baseline is the leaderboard's, of which
each cell and metric is one. Its differences from the other cells count as many tests as the run has
pairs of cells: which cell is the best is seen only in the data, so each pair could have been asked.
They rest on the questions that both finished; which cell finishes more of them is tested by itself,
by as many tests again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, log, log1p
from typing import Any, Literal

from harness import numbers
from harness.comparing import costs
from harness.comparing.contrasts import Contrasts
from harness.comparing.costs import Cost
from harness.statistics import power
from harness.statistics.difference import ALARMS, Difference
from harness.statistics.intervals import FEWEST
from harness.stored import CellLine

Form = Literal[
    "nothing to compare", "baseline is best", "beats baseline", "contested", "beats others",
    "none shown",
]  # fmt: skip

_MARGIN = 0.02
_TAIL = 0.025
_COST: Sequence[Cost] = ("money", "tokens", "seconds")
_SAME = 1e-12


@dataclass(frozen=True)
class Cheaper:
    """A member of the set not shown to be worse than the best cell that costs less than it.

    `difference` is its own from the best, `failing` by how much the share of questions that it
    failed is above the best's. It is `warranted` when the difference lies above -`margin` with its
    whole interval, and `failing` is at most `margin`; else about `questions` questions would tell,
    None where no number can be given.
    """

    cell: str
    cost: float
    best_cost: float
    difference: Difference
    failing: float
    warranted: bool
    questions: int | None


@dataclass(frozen=True)
class Decision:
    """What a run says about which cell to ship, by `metric`.

    `means` holds every cell that has a mean, best first; a failed question counts 0 there. `best`
    is the first that is none of the `floors`. `from_baseline` is its difference from the baseline,
    None where it is the baseline or there is none. `others` holds its difference from every other
    cell, best mean first: positive where the best is better; `units` how many clusters, or else
    questions, each rests on. `finished` holds by how much its share of finished questions is above
    theirs, `failed` how many questions of how many failed in each cell.

    `beaten` are those that the best is shown to be better than, in scores or in finishing, and in
    neither worse. `not_worse` are shown to be worse than it in neither. `ahead` are those shown to
    have something over it: higher scores, or fewer failures if they are no floor. `against` is the
    cell that the verdict is about, the baseline or else the next best, and `seen` the difference
    from it. `cost` is the kind that `costs` gives of each cell, floors left out, that is the best
    or not shown to be worse; `cheaper` is one of them, None where none is.
    """

    form: Form
    metric: str
    means: Mapping[str, float]
    floors: frozenset[str]
    best: str | None
    baseline: str | None
    from_baseline: Difference | None
    others: Mapping[str, Difference]
    units: Mapping[str, int]
    finished: Mapping[str, Difference]
    failed: Mapping[str, tuple[int, int]]
    beaten: tuple[str, ...]
    not_worse: tuple[str, ...]
    ahead: tuple[str, ...]
    against: str | None
    seen: Difference | None
    family: int
    margin: float
    cost: Cost | None
    costs: Mapping[str, float]
    cheaper: Cheaper | None
    currency: str = ""

    @property
    def visible(self) -> float | None:
        """The smallest difference from `against` that would have been found; None if none would."""
        return None if self.seen is None else self.seen.visible

    @property
    def outlasted(self) -> tuple[str, ...]:
        """Those of the beaten that are not shown to score lower: they only fail more questions."""
        return tuple(name for name in self.beaten if not self.others[name].better)

    def above(self, cell: str) -> float:
        """Return how far the best cell's mean is above another's; exactly 0 where they are equal.

        Negative for a floor that is higher.
        """
        gap = self.means[self.best or cell] - self.means[cell]
        return gap if abs(gap) > _SAME else 0.0

    def too_few(self, cell: str) -> bool:
        """Return whether no difference from `cell`, however great, could have been shown."""
        return power.too_few(self.units[cell], ALARMS / max(1, self.others[cell].family))


def decide(contrasts: Contrasts) -> Decision:
    """Return what a run says about which of its cells to ship."""
    run = contrasts.run
    metric, baseline = run.decide_by, run.baseline
    settings: Mapping[str, Any] = run.config.get("resolved", {})
    margin, kinds = settings.get("margin", _MARGIN), settings.get("cost", _COST)
    means = _means(run.cells, metric)
    floors = frozenset(cell.name for cell in run.cells if cell.floor)
    best = next((name for name in means if name not in floors), None)
    rest = [name for name in means if name != best]
    family = len(means) * (len(means) - 1) // 2
    others = {} if best is None else contrasts.between(metric, best, rest, family)
    from_baseline = contrasts.against_baseline.get((best or "", metric))
    if from_baseline is not None and baseline in others:
        others[baseline] = from_baseline  # one answer to one question, wherever it is shown
    units = {name: contrasts.units(metric, best, name) for name in others} if best else {}
    finished = contrasts.finished(best, list(others), family) if best else {}
    shown = {name: _shown(others[name], finished[name], name in floors) for name in others}
    beaten = tuple(name for name, (over, under) in shown.items() if over and not under)
    not_worse = tuple(name for name, (over, _) in shown.items() if not over)
    ahead = tuple(name for name, (_, under) in shown.items() if under)
    against = baseline if baseline in others else next(iter(others), None)
    fit = [each for each in not_worse if each not in floors]
    kind, spent = (
        costs.known(kinds, [best, *fit], contrasts.stored.of([best, *fit]), run)
        if best and fit
        else (None, {})
    )
    currency = "" if run.prices is None else run.prices.currency
    weighed = [
        _weighed(name, (cost, spent[best]), others[name], units[name], finished[name], margin)
        for name, cost in sorted(spent.items(), key=lambda each: each[1])
        if best
        and cost < spent[best]
        and amount(kind, cost, currency) != amount(kind, spent[best], currency)
    ]
    return Decision(
        form=_form(best, baseline, others, beaten, ahead),
        metric=metric,
        means=means,
        floors=floors,
        best=best,
        baseline=baseline,
        from_baseline=from_baseline,
        others=others,
        units=units,
        finished=finished,
        failed={name: contrasts.failed(name) for name in means},
        beaten=beaten,
        not_worse=not_worse,
        ahead=ahead,
        against=against,
        seen=None if against is None else others[against],
        family=family,
        margin=margin,
        cost=kind,
        costs=spent,
        cheaper=next((each for each in weighed if each.warranted), next(iter(weighed), None)),
        currency=currency,
    )


def amount(kind: Cost | None, cost: float, currency: str = "") -> str:
    """Return what a question costs, as people read it; money with its `currency`."""
    if kind == "money":
        return numbers.money(cost, currency)
    if kind == "seconds":
        return numbers.seconds(cost)
    return numbers.count(round(cost), "token" if kind == "tokens" else "unit")


def _means(cells: Sequence[CellLine], metric: str) -> dict[str, float]:
    """Return the mean of each cell that has one, best first."""
    means = {cell.name: cell.scores[metric].mean for cell in cells if metric in cell.scores}
    known = {name: mean for name, mean in means.items() if mean is not None}
    return dict(sorted(known.items(), key=lambda each: -each[1]))


def _shown(score: Difference, finished: Difference, floor: bool) -> tuple[bool, bool]:
    """Return whether the best is shown to be better than another in anything, and to be worse.

    That a floor fails less is nothing against the best: it is there to be beaten in scores.
    """
    over = score.better or finished.better
    return over, score.worse or (finished.worse and not floor)


def _form(
    best: str | None,
    baseline: str | None,
    others: Mapping[str, Difference],
    beaten: Sequence[str],
    ahead: Sequence[str],
) -> Form:
    if best is None or not others:
        return "nothing to compare"
    if best == baseline:
        return "baseline is best"
    if baseline in beaten:
        return "beats baseline"
    if ahead:
        return "contested"
    return "beats others" if beaten else "none shown"


def _weighed(
    name: str,
    spent: tuple[float, float],
    from_best: Difference,
    units: int,
    finished: Difference,
    margin: float,
) -> Cheaper:
    difference, failing, questions = from_best.turned, finished.difference or 0.0, None
    if difference.identical:
        # No question differs: the exact bound of how many would, as that of a mean of zeros.
        within = units >= _all_alike(margin)
        if not within and _all_alike(margin) < inf:
            questions = ceil(_all_alike(margin) * difference.n / units)
    else:
        within = difference.low is not None and difference.low > -margin
        if not within and (difference.difference or 0.0) > -margin:
            questions = difference.questions_to_exceed(-margin)
        elif not within:
            questions = difference.questions
    if questions is not None and questions <= max(difference.n, FEWEST - 1):
        questions = None
    warranted = within and failing <= margin + _SAME
    return Cheaper(name, *spent, difference, failing, warranted, questions)


def _all_alike(margin: float) -> float:
    """Return how many questions without a difference show that it is within `margin` of 0."""
    if margin >= 1:
        return 0
    bound = log(_TAIL) / log1p(-margin) if margin else inf
    return ceil(bound) if bound < inf else inf
