"""Decides which cell to ship: the best one, how sure that is, and whether a cheaper one will do.

Three families of tests. The best cell's difference from the baseline is the leaderboard's, of which
each cell and metric is one. Its differences from the other cells are of the family of all pairs of
cells: which cell is the best is seen only in the data, so each pair could have been asked. They
rest on the questions that both finished; which cell finishes more of them is tested by itself, in a
family of all pairs again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf, log, log1p
from statistics import fmean
from typing import Any, Literal

from harness.comparison.cell_differences import CellDifferences
from harness.comparison.operand import Cost, OperandCell
from harness.errors import HarnessError
from harness.metrics import named_metrics
from harness.runs import scoring
from harness.runs.outcomes import make_cases
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.intervals import MIN_SAMPLE_SIZE
from harness.store.cell_results import CellResult
from harness.text import numbers

DecisionForm = Literal[
    "nothing to compare", "baseline is best", "beats baseline", "contested", "beats others",
    "none shown",
]  # fmt: skip

_DEFAULT_MARGIN = 0.02
_TAIL_PROBABILITY = 0.025
_DEFAULT_COST_KINDS: Sequence[Cost] = ("money", "tokens", "seconds")
_TOLERANCE = 1e-12
_AT_K = re.compile(r"(.+)@\d+")
_TOKENS = "1000t"


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
    difference: DifferenceEstimate
    failing: float
    warranted: bool
    questions: int | None


@dataclass(frozen=True)
class EqualText:
    """The mean of `metric`, at 1,000 tokens, of the best cell of each chunker, best first.

    At k chunks, larger chunks give the model more to read; at 1,000 tokens all give the same.
    """

    metric: str
    means: Mapping[str, float]

    @property
    def first(self) -> str:
        """The cell that is the best at equal text."""
        return next(iter(self.means))


@dataclass(frozen=True)
class Decision:
    """What a run says about which cell to ship, by `metric`.

    `means` holds every cell that has a mean, best first; a failed question counts 0 there. `best`
    is the first that is no floor. `others` holds its difference from every other cell, best mean
    first: positive where the best is better. `finished` holds by how much its share of finished
    questions is above theirs, `failed` how many questions of how many failed in each cell.

    `beaten` are those that the best is shown to be better than, in scores or in finishing, and in
    neither worse. `not_worse` are shown to be worse than it in neither. `ahead` are those shown to
    have something over it: higher scores, or fewer failures if they are no floor. `against` is the
    cell that the verdict is about, the baseline or else the next best, and `seen` the difference
    from it. `cheaper` is a cell not shown to be worse that costs less, by the kind `cost`.

    `worse_at` are the other metrics on which the recommended cell is shown to be worse than
    `worse_than`: the baseline, or where there is none or it is that, the next best cell.
    `equal_text` is the deciding measure at 1,000 tokens, across chunkers.
    """

    form: DecisionForm
    metric: str
    means: Mapping[str, float]
    best: str | None
    baseline: str | None
    others: Mapping[str, DifferenceEstimate]
    finished: Mapping[str, DifferenceEstimate]
    failed: Mapping[str, tuple[int, int]]
    beaten: tuple[str, ...]
    not_worse: tuple[str, ...]
    ahead: tuple[str, ...]
    against: str | None
    seen: DifferenceEstimate | None
    margin: float
    cost: Cost | None
    cheaper: Cheaper | None
    currency: str = ""
    worse_than: str | None = None
    worse_at: Mapping[str, DifferenceEstimate] = field(default_factory=dict)
    equal_text: EqualText | None = None

    @property
    def ship(self) -> str | None:
        """The cell that is recommended: the best, or a cheaper one not shown to be worse."""
        cheaper = self.cheaper
        if self.form == "none shown" and cheaper is not None and cheaper.warranted:
            return cheaper.cell
        return self.best

    @property
    def beaten_by_failures(self) -> tuple[str, ...]:
        """Those of the beaten that are not shown to score lower: they only fail more questions."""
        return tuple(name for name in self.beaten if not self.others[name].better)

    def lead_over(self, cell: str) -> float:
        """Return how far the best cell's mean is above another's; exactly 0 where they are equal.

        Negative for a floor that is higher.
        """
        gap = self.means[self.best or cell] - self.means[cell]
        return gap if abs(gap) > _TOLERANCE else 0.0


def decide(cells: CellDifferences) -> Decision:
    """Return what a run says about which of its cells to ship."""
    run = cells.run
    metric, baseline = run.decide_by, run.baseline
    settings: Mapping[str, Any] = run.config.get("resolved", {})
    margin = settings.get("margin", _DEFAULT_MARGIN)
    means = _ranked_means(run.cells, metric)
    floors = {cell.name for cell in run.cells if cell.floor}
    best = next((name for name in means if name not in floors), None)
    others: dict[str, DifferenceEstimate] = {}
    finished: dict[str, DifferenceEstimate] = {}
    if best is not None:
        others = cells.between(metric, best, [name for name in means if name != best])
        finished = cells.finished(best, list(others))
    from_baseline = cells.against_baseline.get((best or "", metric))
    if from_baseline is not None and baseline in others:
        others[baseline] = from_baseline  # one answer to one question, wherever it is shown
    over = {name for name in others if others[name].better or finished[name].better}
    # That a floor fails less is nothing against the best: it is there to be beaten in scores.
    ahead = tuple(
        name
        for name in others
        if others[name].worse or (finished[name].worse and name not in floors)
    )
    beaten = tuple(name for name in others if name in over and name not in ahead)
    not_worse = tuple(name for name in others if name not in over)
    against = baseline if baseline in others else next(iter(others), None)
    currency = "" if run.prices is None else run.prices.currency
    kind, spent = None, dict[str, float]()
    candidates = [name for name in not_worse if name not in floors]
    if best and candidates:
        kinds = settings.get("cost", _DEFAULT_COST_KINDS)
        kind, spent = first_known_cost(
            kinds, [cells.operand.cells[name] for name in (best, *candidates)]
        )
    weighed = [
        _assess_cheaper(name, (cost, spent[best]), others[name], finished[name], margin)
        for name, cost in sorted(spent.items(), key=lambda item: item[1])
        if best
        and cost < spent[best]
        and format_cost(kind, cost, currency) != format_cost(kind, spent[best], currency)
    ]
    form: DecisionForm = "beats others" if beaten else "none shown"
    if best is None or not others:
        form = "nothing to compare"
    elif best == baseline:
        form = "baseline is best"
    elif baseline in beaten:
        form = "beats baseline"
    elif ahead:
        form = "contested"
    decision = Decision(
        form=form,
        metric=metric,
        means=means,
        best=best,
        baseline=baseline,
        others=others,
        finished=finished,
        failed={name: cells.failed(name) for name in means},
        beaten=beaten,
        not_worse=not_worse,
        ahead=ahead,
        against=against,
        seen=None if against is None else others[against],
        margin=margin,
        cost=kind,
        cheaper=next((cell for cell in weighed if cell.warranted), next(iter(weighed), None)),
        currency=currency,
        equal_text=_hold_at_equal_text(cells, [name for name in means if name not in floors]),
    )
    return _with_worse_metrics(decision, cells)


def _with_worse_metrics(decision: Decision, cells: CellDifferences) -> Decision:
    """Return a decision with the other metrics on which the recommended cell is shown worse."""
    ship, other = decision.ship, decision.baseline
    if ship is None or not decision.others:
        return decision
    if other is not None and other != ship:
        tested = cells.against_baseline.items()
        differences = {metric: seen for (cell, metric), seen in tested if cell == ship}
    else:
        other = next((name for name in decision.means if name != ship), None)
        differences = {} if other is None else cells.by_metric(ship, other)
    worse = {
        metric: seen
        for metric, seen in differences.items()
        if seen.worse and metric != decision.metric and not cells.is_constant(metric, ship)
    }
    return replace(decision, worse_than=other if worse else None, worse_at=worse)


def first_known_cost(
    kinds: Sequence[Cost], cells: Sequence[OperandCell]
) -> tuple[Cost | None, dict[str, float]]:
    """Return the first kind of cost that is known of each cell, and what each costs a question.

    None and nothing where no kind is known of all.
    """
    for kind in kinds:
        costs = {cell.name: cell.cost(kind) for cell in cells}
        known = {name: cost for name, cost in costs.items() if cost is not None}
        if known and len(known) == len(costs):
            return kind, known
    return None, {}


def format_cost(kind: Cost | None, cost: float, currency: str = "") -> str:
    """Return what a question costs, as people read it; money with its `currency`."""
    if kind == "money":
        return numbers.money(cost, currency)
    if kind == "seconds":
        return numbers.seconds(cost)
    return numbers.count(round(cost), "token" if kind == "tokens" else "unit")


def _ranked_means(cells: Sequence[CellResult], metric: str) -> dict[str, float]:
    """Return the mean of each cell that has one, best first."""
    means = {cell.name: cell.scores[metric].mean for cell in cells if metric in cell.scores}
    present = {name: mean for name, mean in means.items() if mean is not None}
    return dict(sorted(present.items(), key=lambda item: -item[1]))


def _assess_cheaper(
    name: str,
    spent: tuple[float, float],
    from_best: DifferenceEstimate,
    finished: DifferenceEstimate,
    margin: float,
) -> Cheaper:
    difference, failing, questions = from_best.reversed, finished.difference or 0.0, None
    if difference.identical:
        # No question differs: the exact bound of how many would, as that of a mean of zeros.
        within = difference.units >= _identical_questions_needed(margin)
        if not within and _identical_questions_needed(margin) < inf:
            questions = ceil(_identical_questions_needed(margin) * difference.n / difference.units)
    else:
        within = difference.pointwise is not None and difference.pointwise[0] > -margin
        if not within and (difference.difference or 0.0) > -margin:
            questions = difference.questions_to_exceed(-margin)
        elif not within:
            questions = difference.questions
    if questions is not None and questions <= max(difference.n, MIN_SAMPLE_SIZE - 1):
        questions = None
    warranted = within and failing <= margin + _TOLERANCE
    return Cheaper(name, *spent, difference, failing, warranted, questions)


def _identical_questions_needed(margin: float) -> float:
    """Return how many questions without a difference show that it is within `margin` of 0."""
    if margin >= 1:
        return 0
    bound = log(_TAIL_PROBABILITY) / log1p(-margin) if margin else inf
    return ceil(bound) if bound < inf else inf


def _hold_at_equal_text(cells: CellDifferences, names: Sequence[str]) -> EqualText | None:
    """Return the deciding measure at 1,000 tokens; None where it has none, or of one chunker.

    `names` are the cells to choose from, best first.
    """
    run = cells.run
    best: dict[str, str] = {}
    for name in names:
        best.setdefault(cells.cell(name).chunker, name)
    at_k = _AT_K.fullmatch(run.provenance.metrics[run.decide_by].spec)
    if len(best) < 2 or at_k is None:
        return None
    try:
        metric = named_metrics.build_metric(f"{at_k[1]}@{_TOKENS}")
    except HarnessError:
        return None
    means = {
        name: mean
        for name in best.values()
        if (mean := _mean_of_cell(cells, name, metric)) is not None
    }
    if len(means) < len(best):
        return None
    return EqualText(metric.name, dict(sorted(means.items(), key=lambda item: -item[1])))


def _mean_of_cell(
    cells: CellDifferences, cell: str, metric: named_metrics.NamedMetric
) -> float | None:
    """Return the mean as the run has it, else of its records; a failed question counts 0."""
    scored = cells.cell(cell).scores.get(metric.name)
    if scored is not None:
        return scored.mean
    stored = cells.stored
    values = []
    for record in stored.records_of([cell]):
        cases = make_cases(record, stored.questions[record.question], stored.texts)
        scores = [row[metric.name] for row in scoring.score_all([metric], cases)]
        finished = [score.value for score in scores if score.value is not None]
        if finished or any(score.state == "failed" for score in scores):
            values.append(fmean(finished) if finished else 0.0)
    return fmean(values) if values else None
