"""How far apart a rule's scores may lie, as far as is known before a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from harness.clusters import clusters
from harness.comparing.sides import Side
from harness.gate import drops
from harness.labels import has
from harness.metrics import Metric
from harness.metrics import metrics as registry
from harness.prepared import Prepared
from harness.rules import Drop
from harness.scoring import GOLD, label_of, leaves, total_of
from harness.statistics import mcnemar, power
from harness.stored import ScoreLine

Floats = NDArray[np.float64]

_CHANGING = 0.1


@dataclass(frozen=True, eq=False)
class Spread:
    """The questions of one cell that a rule will judge, `n` of them.

    `scores` are the baseline's, shape [n]; None where they are not known. `groups` numbers each
    question's cluster, shape [n], where whole ones are drawn.
    """

    n: int
    scores: Floats | None = None
    groups: NDArray[np.int64] | None = None

    @property
    def clusters(self) -> int | None:
        """How many clusters the questions are in, where whole ones are drawn."""
        return None if self.groups is None else len(np.unique(self.groups))

    def caught(self, rule: Drop, family: int, seed: int) -> float | None:
        """Return the smallest drop that a rule in such a family catches four times in five."""
        level = 2 * (1 - rule.confidence) / family
        units = self.n if self.clusters is None else self.clusters
        if not units:
            return None
        if self.scores is None or (self.groups is None and np.isin(self.scores, (0.0, 1.0)).all()):
            share = _CHANGING if self.scores is None else float(np.var(self.scores))
            visible = mcnemar.smallest(units, round(share * units), level)
            return drops.smallest_caught(rule.drop_more_than, visible, sqrt(share / units))
        changes = self.scores.mean() - self.scores
        if self.groups is not None:
            _, places = np.unique(self.groups, return_inverse=True)
            changes = np.bincount(places, changes) * units / self.n
        error = float(changes.std(ddof=1)) / sqrt(units) if units > 1 else None
        # The 1 makes it a drop that is looked for: the way of the mean.
        visible = power.smallest((1 + changes)[:, None], level, seed)[0]
        return drops.smallest_caught(rule.drop_more_than, visible, error)


def spreads(
    rule: Drop, metric: Metric, cells: Sequence[str | None], side: Side | None, prepared: Prepared
) -> list[Spread]:
    """Return what is known of each cell, each by its name in the baseline; None where it has none.

    Of a sample only so many questions count as are judged together.
    """
    groups = _clusters(side, prepared)
    fit = _fit(rule, metric, prepared)
    return [_spread(rule, cell, side, fit, groups, prepared) for cell in cells]


def _spread(
    rule: Drop,
    cell: str | None,
    side: Side | None,
    fit: Sequence[str],
    groups: Mapping[str, str] | None,
    prepared: Prepared,
) -> Spread:
    ids, scores = list(fit), None
    if side is not None and cell is not None and rule.metric in side.provenance.metrics:
        results = side.cells[cell].results
        lines = {id_: results[id_].scores.get(rule.metric) for id_ in fit if id_ in results}
        ids, scores = _scores(lines, side.provenance.metrics[rule.metric].spec)
    order = np.random.default_rng(prepared.config.settings.seed).permutation(len(ids))
    kept = order[: _pooled_size(len(ids), prepared)]
    numbered = None
    if groups is not None:
        names = [groups.get(ids[at], ids[at]) for at in kept]
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        numbered = np.array([places[name] for name in names], dtype=np.int64)
    return Spread(len(kept), None if scores is None else scores[kept], numbered)


def _fit(rule: Drop, metric: Metric, prepared: Prepared) -> list[str]:
    """Return the questions of the test set that a rule is about, and that its metric can score."""
    labels = prepared.plan.labels
    judged = list(leaves(metric, labels))
    kinds = {GOLD[need] for leaf in judged for need in leaf.needs if need in GOLD}
    kinds |= {kind for leaf in judged if (kind := label_of(leaf)) is not None}
    return [
        question.id
        for question in prepared.whole.questions
        if (question.answerable or getattr(metric, "unanswerable", False))
        and all(has(question, kind) for kind in kinds)
        and (rule.segment is None or rule.segment.holds(question.category, question.difficulty))
    ]


def _clusters(side: Side | None, prepared: Prepared) -> Mapping[str, str] | None:
    """Return the cluster of each question where the run, or the baseline, draws whole ones."""
    if prepared.config.settings.clusters:
        return clusters(prepared.whole.questions)
    asked = {} if side is None else side.questions
    found = {id_: each.cluster for id_, each in asked.items() if each.cluster}
    return found or None


def _pooled_size(size: int, prepared: Prepared) -> int:
    """Return how many of so many questions samples ask that are judged together."""
    settings = prepared.config.settings
    if settings.sample is None or settings.gate is None:
        return size
    share = settings.sample * settings.gate.pool / max(1, len(prepared.whole.questions))
    return ceil(size * min(1.0, share))


def _scores(lines: Mapping[str, ScoreLine | None], spec: str) -> tuple[list[str], Floats]:
    """Return the scored questions and their scores.

    Of a metric of the whole set it is what each question adds, by the jackknife.
    """
    total = total_of(registry.build(spec))
    if total is None:
        values = {id_: e.value for id_, e in lines.items() if e is not None and e.value is not None}
        return [*values], np.array([*values.values()], dtype=np.float64)
    rows = {id_: each.counts for id_, each in lines.items() if each is not None and each.counts}
    if not rows:
        return [], np.zeros(0)
    counts = np.array([*rows.values()], dtype=np.float64)
    whole, n = counts.sum(axis=0), len(counts)
    observed = total(whole.tolist()) or 0.0
    rest = [total((whole - row).tolist()) for row in counts]
    added = [n * observed - (n - 1) * (observed if r is None else r) for r in rest]
    return [*rows], np.array(added, dtype=np.float64)
