"""Weights of a composite that would agree best with people: a suggestion, cross-validated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.errors import SpecError
from harness.metrics import Metric, metrics
from harness.people.correlations import Table, kind
from harness.statistics import nonnegative
from harness.statistics.estimate import Estimate
from harness.statistics.rankcorrelation import gain, spearman

Floats = NDArray[np.float64]

FEWEST = 30
"""Rated answers from which on weights are suggested."""
FOLDS = 5
_MOST = 0.8
EQUAL = "the same weight for each"


@dataclass(frozen=True)
class Suggestion:
    """Weights by the spec of each metric, in hundredths that sum to 1; none where `reason` says so.

    `own` is the rank correlation of answers with people whose question the weights had not seen,
    `present` that of the composite called `against`, `gain` the difference. `n` counts answers.
    """

    n: int
    weights: Mapping[str, float]
    against: str
    own: Estimate | None = None
    present: Estimate | None = None
    gain: Estimate | None = None
    reason: str = ""

    @property
    def better(self) -> bool:
        """Whether the weights are shown to agree better with people than the present ones."""
        return self.gain is not None and self.gain.positive

    @property
    def yaml(self) -> str:
        """What to write among the metrics of a configuration."""
        parts = " + ".join(f"{weight:g}*{spec}" for spec, weight in self.weights.items())
        return f'metrics:\n  - composite: {{weights: "{parts}"}}'


def suggestion(table: Table) -> Suggestion:
    """Return the weights that would agree best with what people said overall.

    Over the quality metrics of answers that have a value of four in five rated answers, and over
    the answers that all of them have a value of; answers to unanswerable questions do not count:
    most metrics have no value of them. They are fitted by least squares, none below 0; how well
    they do is told by five folds of questions, each answered for by weights that were fitted to
    the others.
    """
    said = table.people("overall")
    questions = table.stored.questions
    rows = [
        at
        for at, answer in enumerate(table.answers)
        if said[at] is not None and questions[answer.question].answerable
    ]
    rated = f"people rated {len(rows)} answers to answerable questions overall"
    if len(rows) < FEWEST:
        return _none(len(rows), f"{rated}, under {FEWEST}")
    whole = _parts(table, rows)
    if len(whole) < 2:
        reason = "fewer than two quality metrics of answers have a value of four in five of them"
        return _none(len(rows), f"{rated}, and {reason}")
    rows = [at for at in rows if all(values[at] is not None for values in whole.values())]
    parts = {
        name: known
        for name, values in whole.items()
        if len(set(known := [value for at in rows if (value := values[at]) is not None])) > 1
    }
    if len(rows) < FEWEST:
        reason = f"the metrics to be weighted all have a value of only {len(rows)} of them"
        return _none(len(rows), f"{rated}, and {reason}, under {FEWEST}")
    if len(parts) < 2:
        reason = "fewer than two quality metrics of answers tell answers apart"
        return _none(len(rows), f"{rated}, and {reason}")
    people = np.array([said[at] for at in rows], dtype=np.float64)
    groups = [table.groups[at] for at in rows]
    columns = np.array(list(parts.values()), dtype=np.float64).T
    fitted = nonnegative.weights(columns, people)
    if fitted is None:
        return _none(len(rows), "no metric of answers rises with what people said")
    seed = table.stored.run.provenance.seed
    predicted = _predicted(columns, people, groups, seed)
    against, present = _present(table, rows, columns)
    specs = [table.stored.run.provenance.metrics[name].spec for name in parts]
    return Suggestion(
        len(rows),
        {s: w for s, w in zip(specs, _hundredths(fitted), strict=True) if w},
        against,
        spearman(predicted, people.tolist(), groups, seed),
        spearman(present, people.tolist(), groups, seed),
        gain(predicted, present, people.tolist(), groups, seed),
    )


def _none(n: int, reason: str) -> Suggestion:
    return Suggestion(n, {}, "", reason=reason)


def _parts(table: Table, rows: Sequence[int]) -> dict[str, list[float | None]]:
    """Return the values of each metric that may be weighted."""
    about = table.stored.run.provenance
    found = {}
    for name, metric in table.built.items():
        values = table.metric(name)
        known = sum(values[at] is not None for at in rows)
        wanted = about.metrics[name].kind == "quality" and kind(metric, about.labels) == "answer"
        if wanted and known >= _MOST * len(rows) and _allowed(metric, about.metrics[name].spec):
            found[name] = values
    return found


def _allowed(metric: Metric, spec: str) -> bool:
    """Return whether a composite may have a metric as its part."""
    try:
        metrics.build({"composite": {"weights": f"1.0*{spec}"}})
    except SpecError:
        return False
    return metric.kind == "quality"


def _present(table: Table, rows: Sequence[int], columns: Floats) -> tuple[str, list[float]]:
    """Return the run's composite on these answers; where it has none, the mean of the columns."""
    labels = table.stored.run.provenance.labels
    for name, metric in table.built.items():
        if kind(metric, labels) == "composite":
            values = table.metric(name)
            known = [value for at in rows if (value := values[at]) is not None]
            if len(known) == len(rows):
                return name, known
    return EQUAL, columns.mean(axis=1).tolist()


def _predicted(columns: Floats, people: Floats, groups: Sequence[str], seed: int) -> list[float]:
    """Return each answer's weighted sum by weights that saw no answer to its question.

    Where such weights are not to be had, all are equal.
    """
    names = list(dict.fromkeys(groups))
    order = np.random.default_rng([seed, len(names)]).permutation(len(names))
    fold_of = {names[which]: at % FOLDS for at, which in enumerate(order)}
    folds = np.array([fold_of[name] for name in groups])
    found = np.zeros(len(people))
    for fold in range(FOLDS):
        out = folds == fold
        if not out.any():
            continue
        fitted = nonnegative.weights(columns[~out], people[~out]) if (~out).any() else None
        # To leave out the folds that say nothing would make the rest look too good.
        found[out] = columns[out].mean(axis=1) if fitted is None else columns[out] @ fitted
    values: list[float] = found.tolist()
    return values


def _hundredths(weights: Floats) -> list[float]:
    """Return the weights in hundredths that sum to 1: what is cut off goes to the largest rests."""
    whole = np.floor(weights * 100 + 1e-9)
    rest = weights * 100 - whole
    for at in np.argsort(-rest, kind="stable")[: round(100 - whole.sum())]:
        whole[at] += 1
    return [int(each) / 100 for each in whole]
