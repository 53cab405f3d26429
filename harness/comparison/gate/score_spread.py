"""Estimates before a run how much the scores that a rule judges vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from harness.comparison.gate import drop_rules
from harness.comparison.operand import Operand
from harness.config.gate_rules import Drop
from harness.metrics import Metric
from harness.metrics.named_metrics import LABEL_OF_NEED, label_of, leaf_metrics, stored_total
from harness.ranking.relevance import has_label
from harness.records import Score
from harness.runs.run_inputs import RunInputs
from harness.stats import mcnemar, power
from harness.stats.clusters import find_clusters
from harness.store.run_file import MetricDescription

Floats = NDArray[np.float64]

_ASSUMED_CHANGED_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class ScoreSpread:
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

    def smallest_detectable_drop(self, rule: Drop, family: int, seed: int) -> float | None:
        """Return the smallest drop that a rule in such a family catches four times in five."""
        level = 2 * (1 - rule.confidence) / family
        units = self.n if self.clusters is None else self.clusters
        if not units:
            return None
        if self.scores is None or (self.groups is None and np.isin(self.scores, (0.0, 1.0)).all()):
            share = _ASSUMED_CHANGED_SHARE if self.scores is None else float(np.var(self.scores))
            visible = mcnemar.smallest_detectable(
                units, round(share * units), mcnemar.wins_that_reject(units, level)
            )
            return drop_rules.smallest_detectable_drop(
                rule.drop_more_than, visible, sqrt(share / units)
            )
        changes = self.scores.mean() - self.scores
        if self.groups is not None:
            _, places = np.unique(self.groups, return_inverse=True)
            changes = np.bincount(places, changes) * units / self.n
        error = float(changes.std(ddof=1)) / sqrt(units) if units > 1 else None
        # The 1 makes it a drop that is looked for: the way of the mean.
        if power.cannot_reject(units, level):
            return None
        critical = np.array([power.critical_value(units, level)])
        visible = power.smallest_detectable((1 + changes)[:, None], critical, seed)[0]
        return drop_rules.smallest_detectable_drop(rule.drop_more_than, visible, error)


def estimate_spreads(
    rule: Drop,
    metric: Metric,
    cells: Sequence[str | None],
    side: Operand | None,
    prepared: RunInputs,
) -> list[ScoreSpread]:
    """Return what is known of each cell, each by its name in the baseline; None where it has none.

    Of a sample only so many questions count as are judged together.
    """
    groups = _question_clusters(side, prepared)
    fit = _rule_questions(rule, metric, prepared)
    return [_cell_spread(rule, cell, side, fit, groups, prepared) for cell in cells]


def _cell_spread(
    rule: Drop,
    cell: str | None,
    side: Operand | None,
    fit: Sequence[str],
    groups: Mapping[str, str] | None,
    prepared: RunInputs,
) -> ScoreSpread:
    ids, scores = list(fit), None
    if side is not None and cell is not None and rule.metric in side.provenance.metrics:
        results = side.cells[cell].results
        lines = {id_: results[id_].scores.get(rule.metric) for id_ in fit if id_ in results}
        ids, scores = _scored_questions(lines, side.provenance.metrics[rule.metric])
    order = np.random.default_rng(prepared.config.settings.seed).permutation(len(ids))
    chosen = order[: _pooled_size(len(ids), prepared)]
    numbered = None
    if groups is not None:
        names = [groups.get(ids[index], ids[index]) for index in chosen]
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        numbered = np.array([places[name] for name in names], dtype=np.int64)
    return ScoreSpread(len(chosen), None if scores is None else scores[chosen], numbered)


def _rule_questions(rule: Drop, metric: Metric, prepared: RunInputs) -> list[str]:
    """Return the questions of the test set that a rule is about, and that its metric can score."""
    labels = prepared.plan.labels
    judged = list(leaf_metrics(metric, labels))
    kinds = {LABEL_OF_NEED[need] for leaf in judged for need in leaf.needs if need in LABEL_OF_NEED}
    kinds |= {kind for leaf in judged if (kind := label_of(leaf)) is not None}
    return [
        question.id
        for question in prepared.whole.questions
        if (question.answerable or getattr(metric, "unanswerable", False))
        and all(has_label(question, kind) for kind in kinds)
        and (rule.segment is None or rule.segment.holds(question.category, question.difficulty))
    ]


def _question_clusters(side: Operand | None, prepared: RunInputs) -> Mapping[str, str] | None:
    """Return the cluster of each question where the run, or the baseline, draws whole ones."""
    if prepared.config.settings.clusters:
        return find_clusters(prepared.whole.questions)
    questions = {} if side is None else side.questions
    by_question = {id_: question.cluster for id_, question in questions.items() if question.cluster}
    return by_question or None


def _pooled_size(size: int, prepared: RunInputs) -> int:
    """Return how many of so many questions samples ask that are judged together."""
    settings = prepared.config.settings
    if settings.sample is None or settings.gate is None:
        return size
    share = settings.sample * settings.gate.pool / max(1, len(prepared.whole.questions))
    return ceil(size * min(1.0, share))


def _scored_questions(
    lines: Mapping[str, Score | None], about: MetricDescription
) -> tuple[list[str], Floats]:
    """Return the scored questions and their scores.

    Of a metric of the whole set it is what each question adds, by the jackknife.
    """
    total = stored_total(about)
    if total is None:
        values = {
            id_: line.value
            for id_, line in lines.items()
            if line is not None and line.value is not None
        }
        return [*values], np.array([*values.values()], dtype=np.float64)
    rows = {
        id_: score_line.counts
        for id_, score_line in lines.items()
        if score_line is not None and score_line.counts
    }
    if not rows:
        return [], np.zeros(0)
    counts = np.array([*rows.values()], dtype=np.float64)
    whole, n = counts.sum(axis=0), len(counts)
    observed = total(whole.tolist()) or 0.0
    without_row = [total((whole - row).tolist()) for row in counts]
    added = [n * observed - (n - 1) * (observed if r is None else r) for r in without_row]
    return [*rows], np.array(added, dtype=np.float64)
