"""Before a run: the smallest drop that each gate rule can detect with this test set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from harness.comparison.baselines import baseline_reader
from harness.comparison.baselines.baseline_reader import Absent
from harness.comparison.gate import drop_rules
from harness.comparison.operand import Operand
from harness.config.gate_rules import Drop, Gate
from harness.metrics import Metric
from harness.metrics.named_metrics import LABEL_OF_NEED, label_of, leaf_metrics, stored_total
from harness.ranking.relevance import has_label
from harness.runs.run_inputs import RunInputs
from harness.stats import mcnemar, power
from harness.stats.aggregate_scores import pseudo_values, total_rows
from harness.stats.clusters import find_clusters
from harness.stats.intervals import number_clusters
from harness.text import numbers

_SPREAD_NOTE = (
    "between two runs a question's score changes with the standard deviation of the baseline's own "
    "scores; where less changes, smaller drops are caught"
)
_NO_SPREAD_NOTE = (
    "one question in ten changes its score, by all of it; with a baseline, the standard deviation "
    "of its own scores is taken"
)
_POOLED_NOTE = "samples of several days are judged together: what they catch is not worked out"
_ASSUMED_CHANGED_SHARE = 0.1

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DetectableDrops:
    """What a gate can tell with a test set: for each drop rule, what is caught four times in five.

    `rules` and `limits` count what the gate has, `tests` the tests that are corrected together.
    `assumed` says what the figures rest on.
    """

    rules: int
    limits: int
    notes: Sequence[str] = ()
    tests: int = 0
    caught: Sequence[tuple[str, str]] = ()
    assumed: str = ""


@dataclass(frozen=True, eq=False)
class ScoreSpread:
    """The questions of one cell that a rule will judge, `n` of them, and how much scores vary.

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
            changes = np.bincount(self.groups, changes) * units / self.n
        error = float(changes.std(ddof=1)) / sqrt(units) if units > 1 else None
        # The 1 makes it a drop that is looked for: the way of the mean.
        if power.cannot_reject(units, level):
            return None
        critical = np.array([power.critical_value(units, level)])
        visible = power.smallest_detectable((1 + changes)[:, None], critical, seed)[0]
        return drop_rules.smallest_detectable_drop(rule.drop_more_than, visible, error)


def find_detectable_drops(prepared: RunInputs) -> DetectableDrops | None:
    """Return for each drop rule the smallest drop that it catches; None where there is no gate.

    Raises:
        DataError: the baseline is damaged.
    """
    gate, notes, side = prepared.config.settings.gate, list[str](), None
    if gate is None:
        return None
    limits = len(gate.min) + sum(limit is not None for limit in vars(gate.max).values())
    drops = DetectableDrops(len(gate.fail_if), limits)
    if not gate.fail_if:
        return drops
    try:
        side = baseline_reader.read(gate.baseline).operand
    except Absent as error:
        notes += [line.strip() for line in str(error).split("\n")]
    if side is not None and prepared.whole.id != side.provenance.testset.get("hash"):
        notes.append(f"{side.id} was made with another test set: runs cannot be held against it")
    cells = _judged_cells(gate, prepared, side)
    if not cells:
        notes.append("no cell will be judged: each is a floor, or not in the baseline")
    if prepared.config.settings.sample is not None:
        notes.append(_POOLED_NOTE)
    if not cells or prepared.config.settings.sample is not None:
        return replace(drops, notes=notes)
    built = {metric.name: metric.metric for metric in prepared.plan.metrics}
    clusters = _question_clusters(side, prepared)
    by_rule = []
    for rule in gate.fail_if:
        ids = _rule_questions(rule, built[rule.metric], prepared)
        by_rule.append([_estimate_spread(rule, cell, side, ids, clusters) for cell in cells])
    family = sum(spread.n > 0 for by_cell in by_rule for spread in by_cell)
    caught = []
    for rule, by_cell in zip(gate.fail_if, by_rule, strict=True):
        seed = prepared.config.settings.seed
        least = [spread.smallest_detectable_drop(rule, max(1, family), seed) for spread in by_cell]
        caught.append((str(rule), _describe_drop(by_cell, least)))
    assumed = _NO_SPREAD_NOTE if side is None else _SPREAD_NOTE
    return replace(drops, notes=notes, tests=family, caught=caught, assumed=assumed)


def _judged_cells(gate: Gate, prepared: RunInputs, side: Operand | None) -> list[str | None]:
    """Return the cells that are judged, each by its name in the baseline; None without one."""
    config = prepared.config
    floors = {
        cell.name for cell in config.cells if cell.embedder is not None and cell.embedder.floor
    }
    names = [cell.name for cell in config.cells] + [system.name for system in config.systems]
    judged = [
        name for name in names if (name not in floors if gate.cell is None else name == gate.cell)
    ]
    if side is None:
        return [None] * len(judged)
    held = list(side.cells)
    if len(held) == len(names) == 1:
        return [held[0] for _ in judged]
    return [name for name in judged if name in held]


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


def _estimate_spread(
    rule: Drop,
    cell: str | None,
    side: Operand | None,
    ids: Sequence[str],
    clusters: Mapping[str, str] | None,
) -> ScoreSpread:
    """Return what is known of a cell, by its name in the baseline; None where it has none."""
    ids, scores = list(ids), None
    if side is not None and cell is not None and rule.metric in side.provenance.metrics:
        ids, scores = _known_scores(side, cell, rule.metric, ids)
    groups = None
    if clusters is not None:
        groups = number_clusters(clusters.get(id_, id_) for id_ in ids)
    return ScoreSpread(len(ids), scores, groups)


def _known_scores(
    side: Operand, cell: str, metric: str, ids: Sequence[str]
) -> tuple[list[str], Floats]:
    """Return those of the questions that the baseline scored, and their scores.

    Of a metric of the whole set it is what each question adds, by the jackknife.
    """
    column = side.cells[cell].columns[metric]
    places = side.places([id_ for id_ in ids if id_ in side.questions])
    places = places[column.known[places]]
    names, values = list(side.questions), column.values[places]
    total = stored_total(side.provenance.metrics[metric])
    if total is not None and len(values):
        whole = values.sum(axis=0)
        observed = total(whole.tolist()) or 0.0
        values = pseudo_values(observed, *total_rows(total, whole - values))
    return [names[place] for place in places.tolist()], values


def _describe_drop(spreads: Sequence[ScoreSpread], smallest_drops: Sequence[float | None]) -> str:
    n = f"n = {_format_range([spread.n for spread in spreads])}"
    clusters = [spread.clusters for spread in spreads if spread.clusters is not None]
    if clusters:
        ends = _format_range(clusters)
        n += f" in {ends} cluster{'' if ends == '1' else 's'}"
    drops = sorted(drop for drop in smallest_drops if drop is not None)
    if not drops:
        return f"{n} is too few to catch any drop"
    ends = " to ".join(dict.fromkeys(numbers.score(drop) for drop in (drops[0], drops[-1])))
    return f"{n}: a drop of {ends}{', by cell' if ' to ' in ends else ''}"


def _format_range(counts: Sequence[int]) -> str:
    return " to ".join(dict.fromkeys(f"{count:,}" for count in (min(counts), max(counts))))
