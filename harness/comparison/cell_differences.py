"""Differences between the cells of one stored run, by every metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.metrics.named_metrics import stored_metric, stored_total
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.differences import estimate_differences
from harness.stats.intervals import number_clusters
from harness.stats.paired_units import PairedScores
from harness.stats.whole_sets import Total
from harness.store.cell_results import CellResult
from harness.store.reader import StoredRun

Floats = NDArray[np.float64]

_COPY_METRIC = "context_overlap"
"""1 for every answer of a generator that copies from its context."""


class CellDifferences:
    """Compares the cells of one run; every table is built once, when it is first needed."""

    def __init__(self, stored: StoredRun) -> None:
        self.stored = stored
        self.run = stored.run
        self._cells = {cell.name: cell for cell in stored.run.cells}
        self._rows = {name: row for row, name in enumerate(self._cells)}
        self._tables: dict[str, Floats] = {}

    @cached_property
    def against_baseline(self) -> Mapping[tuple[str, str], DifferenceEstimate]:
        """Each cell's difference from the baseline cell, by cell and metric; one family.

        Over every metric that may be compared: no descriptive ones, and those that count an index's
        own chunks only where the cell has the baseline's chunker. Empty without a baseline.
        """
        name = self.run.baseline
        if name is None or name not in self._cells:
            return {}
        tests = [
            (cell, metric)
            for cell in self._cells
            for metric in self.run.provenance.metrics
            if cell != name and self.comparable(metric, cell, name)
        ]
        pairs = [self.pair(metric, cell, name) for cell, metric in tests]
        deciding = [
            place for place, (_, metric) in enumerate(tests) if metric == self.run.decide_by
        ]
        differences = estimate_differences(pairs, self.run.provenance.seed, powered=deciding)
        return dict(zip(tests, differences, strict=True))

    def between(
        self, metric: str, cell: str, others: Sequence[str]
    ) -> dict[str, DifferenceEstimate]:
        """Return the difference of a cell from each of the others by one metric.

        Their family is all pairs of these cells: which cell is looked at is seen in the data.
        """
        comparable = [other for other in others if self.comparable(metric, cell, other)]
        rest = [pair for pair in combinations(others, 2) if self.comparable(metric, *pair)]
        differences = estimate_differences(
            [self.pair(metric, cell, other) for other in comparable],
            self.run.provenance.seed,
            [self.pair(metric, *pair) for pair in rest],
        )
        return dict(zip(comparable, differences, strict=True))

    def by_metric(self, cell: str, other: str) -> dict[str, DifferenceEstimate]:
        """Return the difference of a cell from another by every metric, as one family."""
        metrics = [
            name for name in self.run.provenance.metrics if self.comparable(name, cell, other)
        ]
        pairs = [self.pair(name, cell, other) for name in metrics]
        differences = estimate_differences(pairs, self.run.provenance.seed, powered=())
        return dict(zip(metrics, differences, strict=True))

    def is_constant(self, metric: str, cell: str) -> bool:
        """Return whether a metric, or a part of it, is 1 by construction in a cell."""
        about = self.run.provenance.metrics[metric]
        if not self._cells[cell].copies:
            return False
        parts: Sequence[str] = (about.spec,)
        if about.spec.partition("(")[0] == "composite":
            parts = getattr(stored_metric(about), "parts", ())
        return any(part.partition("(")[0] == _COPY_METRIC for part in parts)

    def finished(self, cell: str, others: Sequence[str]) -> dict[str, DifferenceEstimate]:
        """Return by how much a cell's share of questions that did not fail is above the others'.

        Only questions that both were asked count. The family is as of `between`.
        """
        differences = estimate_differences(
            [self._build_pair(self._finished, cell, other) for other in others],
            self.run.provenance.seed,
            [self._build_pair(self._finished, *names) for names in combinations(others, 2)],
            powered=(),
        )
        return dict(zip(others, differences, strict=True))

    def failed(self, cell: str) -> tuple[int, int]:
        """Return how many questions failed in a cell, and how many it was asked."""
        finished = self._finished[self._rows[cell]]
        return int((finished == 0).sum()), int(_has_value(finished).sum())

    def comparable(self, metric: str, cell: str, other: str) -> bool:
        """Return whether a metric may be compared between two cells."""
        about = self.run.provenance.metrics[metric]
        same = self._cells[cell].chunker == self._cells[other].chunker
        return about.kind != "descriptive" and (same or not about.within_chunker)

    def cell(self, name: str) -> CellResult:
        """Return the cell of a name."""
        return self._cells[name]

    def pair(self, metric: str, cell: str, other: str) -> PairedScores:
        """Return one metric of two cells on the questions that both finished."""
        return self._build_pair(self._table(metric), cell, other, self._totals.get(metric))

    def _build_pair(
        self, table: Floats, cell: str, other: str, total: Total | None = None
    ) -> PairedScores:
        left, right = table[self._rows[cell]], table[self._rows[other]]
        has_left, has_right = _has_value(left), _has_value(right)
        both = has_left & has_right
        clusters = None if self._clusters is None else self._clusters[both]
        alone = int((has_left ^ has_right).sum())
        return PairedScores(left[both], right[both], total, clusters, alone, np.flatnonzero(both))

    @cached_property
    def _totals(self) -> dict[str, Total]:
        """What makes the value of each metric of the whole set."""
        about = self.run.provenance.metrics
        totals = {name: stored_total(line) for name, line in about.items()}
        return {name: total for name, total in totals.items() if total is not None}

    @cached_property
    def _finished(self) -> Floats:
        """1 where a question finished, 0 where it failed; shape and nan as of `_table`."""
        return self._fill_table(~self.stored.frame.failed)

    def _table(self, metric: str) -> Floats:
        """Return a metric's values, shape [cells, questions]; nan where there is none.

        Of a metric of the whole set it is the counts, shape [cells, questions, counts].
        """
        if metric not in self._tables:
            frame = self.stored.frame
            values = frame.value[metric]
            if metric in self._totals:
                counts = frame.counts.get(metric, [()] * len(frame))
                values = np.full((len(frame), max(map(len, counts), default=0) or 1), np.nan)
                for place, row in enumerate(counts):
                    if row:
                        values[place] = row
            self._tables[metric] = self._fill_table(values)
        return self._tables[metric]

    def _fill_table(self, values: NDArray[Any]) -> Floats:
        shape = (len(self._rows), len(self.stored.questions), *values.shape[1:])
        table = np.full(shape, np.nan)
        table[self.stored.frame.cell, self.stored.frame.question] = values
        return table

    @cached_property
    def _clusters(self) -> NDArray[np.int64] | None:
        """The number of each question's cluster, where whole clusters are flipped."""
        clusters = self.stored.clusters
        if clusters is None:
            return None
        return number_clusters(clusters.get(id_, id_) for id_ in self.stored.questions)


def _has_value(values: Floats) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = ~np.isnan(values if values.ndim == 1 else values[:, 0])
    return mask
