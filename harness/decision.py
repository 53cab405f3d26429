"""From a run's differences to a decision: the best cell, how sure, and whether a cheaper one does.

Two families of tests. The best cell's difference from the baseline is the leaderboard's, of which
each cell and metric is one. Its differences from the other cells count as many tests as the run has
pairs of cells: which cell is the best is seen only in the data, so each pair could have been asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log, log1p
from typing import Any, Literal

from harness import costs
from harness.contrasts import Contrasts
from harness.costs import Cost
from harness.difference import Difference
from harness.stored import CellLine

Form = Literal[
    "nothing to compare", "baseline is best", "beats baseline", "beats others", "none shown"
]

_MARGIN = 0.02
_TAIL = 0.025
_COST: Sequence[Cost] = ("money", "tokens", "seconds")


@dataclass(frozen=True)
class Cheaper:
    """A member of the set not shown to be worse than the best cell that costs less than it.

    `difference` is its own from the best. It is `warranted` when that lies above -`margin` with its
    whole interval; else about `questions` questions would tell, None where no number can be given.
    """

    cell: str
    cost: float
    best_cost: float
    difference: Difference
    warranted: bool
    questions: int | None


@dataclass(frozen=True)
class Decision:
    """What a run says about which cell to ship, by `metric`.

    `best` is the cell with the highest mean that is no floor. `from_baseline` is its difference
    from the baseline, None where it is the baseline or there is none. `others` holds its difference
    from every other cell, best mean first: positive where the best is better. `beaten` are those
    that it is shown to be better than, `not_worse` the others: not shown to be worse than it.
    `against` is the cell that the verdict is about, the baseline or else the next best, and `seen`
    the difference from it. `cost` is the kind that `costs` gives of each cell, floors left out,
    that is the best or not shown to be worse; `cheaper` is one of them, None where none is.
    """

    form: Form
    metric: str
    best: str | None
    baseline: str | None
    from_baseline: Difference | None
    others: Mapping[str, Difference]
    beaten: tuple[str, ...]
    not_worse: tuple[str, ...]
    against: str | None
    seen: Difference | None
    family: int
    margin: float
    cost: Cost | None
    costs: Mapping[str, float]
    cheaper: Cheaper | None

    @property
    def visible(self) -> float | None:
        """The smallest difference from `against` that would have been found; None if none would."""
        return None if self.seen is None else self.seen.visible


def decide(contrasts: Contrasts) -> Decision:
    """Return what a run says about which of its cells to ship."""
    run = contrasts.run
    metric, baseline = run.decide_by, run.baseline
    settings: Mapping[str, Any] = run.config.get("resolved", {})
    margin, kinds = settings.get("margin", _MARGIN), settings.get("cost", _COST)
    ranked = _ranked(run.cells, metric)
    best = next((cell.name for cell in ranked if not cell.floor), None)
    rest = [cell.name for cell in ranked if cell.name != best]
    family = len(ranked) * (len(ranked) - 1) // 2
    others = {} if best is None else contrasts.between(metric, best, rest, family)
    from_baseline = contrasts.against_baseline.get((best or "", metric))
    if from_baseline is not None and baseline in others:
        others[baseline] = from_baseline  # one answer to one question, wherever it is shown
    beaten = tuple(name for name, each in others.items() if each.better)
    not_worse = tuple(name for name in others if name not in beaten)
    against = baseline if baseline in others else next(iter(others), None)
    fit = [each for each in not_worse if not contrasts.cell(each).floor]
    kind, spent = (
        costs.known(kinds, [best, *fit], contrasts.stored.records) if best and fit else (None, {})
    )
    return Decision(
        form=_form(best, baseline, others, beaten),
        metric=metric,
        best=best,
        baseline=baseline,
        from_baseline=from_baseline,
        others=others,
        beaten=beaten,
        not_worse=not_worse,
        against=against,
        seen=None if against is None else others[against],
        family=family,
        margin=margin,
        cost=kind,
        costs=spent,
        cheaper=_cheaper(best, others, spent, margin),
    )


def _ranked(cells: Sequence[CellLine], metric: str) -> list[CellLine]:
    """Return the cells that have a mean, best first."""
    means = {cell.name: cell.scores[metric].mean for cell in cells if metric in cell.scores}
    known = {name: mean for name, mean in means.items() if mean is not None}
    return sorted((cell for cell in cells if cell.name in known), key=lambda c: -known[c.name])


def _form(
    best: str | None,
    baseline: str | None,
    others: Mapping[str, Difference],
    beaten: Sequence[str],
) -> Form:
    if best is None or not others:
        return "nothing to compare"
    if best == baseline:
        return "baseline is best"
    if baseline in beaten:
        return "beats baseline"
    return "beats others" if beaten else "none shown"


def _cheaper(
    best: str | None, others: Mapping[str, Difference], spent: Mapping[str, float], margin: float
) -> Cheaper | None:
    """Return the cheapest cell that is warranted, or where none is the cheapest of all."""
    if best is None or best not in spent:
        return None
    found = [
        _weighed(name, cost, spent[best], others[name].turned, margin)
        for name, cost in sorted(spent.items(), key=lambda each: each[1])
        if cost < spent[best]
    ]
    return next((each for each in found if each.warranted), next(iter(found), None))


def _weighed(
    name: str, cost: float, best_cost: float, difference: Difference, margin: float
) -> Cheaper:
    questions = None
    if difference.identical:
        # No question differs: the exact bound of how many would, as that of a mean of zeros.
        warranted = margin >= 1 or difference.n >= _all_alike(margin)
        questions = None if warranted or margin == 0 else _all_alike(margin)
    else:
        warranted = difference.low is not None and difference.low > -margin
        if not warranted and (difference.difference or 0.0) > -margin:
            questions = difference.questions_to_exceed(-margin)
        elif not warranted:
            questions = difference.questions
    return Cheaper(name, cost, best_cost, difference, warranted, questions)


def _all_alike(margin: float) -> int:
    """Return how many questions without a difference show that it is within `margin` of 0."""
    return ceil(log(_TAIL) / log1p(-margin))
