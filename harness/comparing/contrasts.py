"""The cells of a stored run side by side: one table of values, and each cell's differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.metrics import metrics
from harness.scoring import total_of
from harness.statistics.aggregate import Total
from harness.statistics.difference import Difference
from harness.statistics.differences import Pair, compare
from harness.store import StoredRun
from harness.stored import CellLine

Floats = NDArray[np.float64]


class Contrasts:
    """Compares the cells of one run; every table is built once, when it is first needed."""

    def __init__(self, stored: StoredRun) -> None:
        self.stored = stored
        self.run = stored.run
        self._cells = {cell.name: cell for cell in stored.run.cells}
        self._rows = {name: row for row, name in enumerate(self._cells)}
        self._columns = {id_: column for column, id_ in enumerate(stored.questions)}

    @cached_property
    def against_baseline(self) -> Mapping[tuple[str, str], Difference]:
        """Each cell's difference from the baseline cell, by cell and metric; one family.

        Over every metric that may be compared: no descriptive ones, and those that count an index's
        own chunks only where the cell has the baseline's chunker. Empty without a baseline.
        """
        name = self.run.baseline
        if name is None or name not in self._cells:
            return {}
        wanted = [
            (cell, metric)
            for cell in self._cells
            for metric in self.run.provenance.metrics
            if cell != name and self.comparable(metric, cell, name)
        ]
        pairs = [self.pair(metric, cell, name) for cell, metric in wanted]
        found = compare(pairs, self.run.provenance.seed)
        return dict(zip(wanted, found, strict=True))

    def between(
        self, metric: str, cell: str, others: Sequence[str], family: int | None = None
    ) -> dict[str, Difference]:
        """Return the difference of a cell from each of the others by one metric, as one family.

        `family` counts every test that could have been made, where that is more than these.
        """
        fit = [each for each in others if self.comparable(metric, cell, each)]
        pairs = [self.pair(metric, cell, each) for each in fit]
        found = compare(pairs, self.run.provenance.seed, family)
        return dict(zip(fit, found, strict=True))

    def finished(
        self, cell: str, others: Sequence[str], family: int | None = None
    ) -> dict[str, Difference]:
        """Return by how much a cell's share of questions that did not fail is above the others'.

        One family, `family` as of `between`. Only questions that both were asked count.
        """
        rows = self._finished
        pairs = [self._paired(rows[self._rows[cell]], rows[self._rows[each]]) for each in others]
        found = compare(pairs, self.run.provenance.seed, family)
        return dict(zip(others, found, strict=True))

    def failed(self, cell: str) -> tuple[int, int]:
        """Return how many questions failed in a cell, and how many it was asked."""
        finished = self._finished[self._rows[cell]]
        return int((finished == 0).sum()), int(_known(finished).sum())

    def units(self, metric: str, cell: str, other: str) -> int:
        """Return how many clusters, or else questions, a difference between two cells rests on."""
        pair = self.pair(metric, cell, other)
        return len(pair.left) if pair.clusters is None else len(np.unique(pair.clusters))

    def comparable(self, metric: str, cell: str, other: str) -> bool:
        """Return whether a metric may be compared between two cells."""
        about = self.run.provenance.metrics[metric]
        same = self._cells[cell].chunker == self._cells[other].chunker
        return about.kind != "descriptive" and (same or not about.within_chunker)

    def cell(self, name: str) -> CellLine:
        """Return the cell of a name."""
        return self._cells[name]

    def pair(self, metric: str, cell: str, other: str) -> Pair:
        """Return one metric of two cells on the questions that both finished."""
        total = self._totals.get(metric)
        values = self._counts[metric] if total is not None else self._values[metric]
        return self._paired(values[self._rows[cell]], values[self._rows[other]], total)

    def _paired(self, left: Floats, right: Floats, total: Total | None = None) -> Pair:
        there, here = _known(left), _known(right)
        both = there & here
        groups = None if self._clusters is None else self._clusters[both]
        return Pair(left[both], right[both], total, groups, int((there ^ here).sum()))

    @cached_property
    def _totals(self) -> dict[str, Total]:
        """What makes the value of each metric of the whole set."""
        about = self.run.provenance.metrics
        whole = [name for name, line in about.items() if line.kind == "whole set"]
        found = {name: total_of(metrics.build(about[name].spec)) for name in whole}
        return {name: total for name, total in found.items() if total is not None}

    @cached_property
    def _values(self) -> dict[str, Floats]:
        """Each metric's values, shape [cells, questions]; nan where there is none, only in here."""
        value = self.stored.columns.value
        return {name: self._table(value[name]) for name in self.run.provenance.metrics}

    @cached_property
    def _finished(self) -> Floats:
        """1 where a question finished, 0 where it failed; shape and nan as of `_values`."""
        return self._table(~self.stored.columns.failed)

    def _table(self, values: NDArray[Any]) -> Floats:
        table = np.full((len(self._rows), len(self._columns)), np.nan)
        table[self.stored.columns.cell, self.stored.columns.question] = values
        return table

    @cached_property
    def _counts(self) -> dict[str, Floats]:
        """The counts of each metric of the whole set, shape [cells, questions, counts]."""
        return {name: self._counted(name) for name in self._totals}

    def _counted(self, metric: str) -> Floats:
        counts = [record.scores[metric].counts for record in self.stored.records]
        width = max(map(len, counts), default=0) or 1
        table = np.full((len(self._rows), len(self._columns), width), np.nan)
        columns = self.stored.columns
        for row, column, found in zip(columns.cell, columns.question, counts, strict=True):
            if found:
                table[row, column] = found
        return table

    @cached_property
    def _clusters(self) -> NDArray[np.int64] | None:
        """The number of each question's cluster, where whole clusters are drawn."""
        known = self.stored.clusters
        if known is None:
            return None
        names = [known.get(id_, id_) for id_ in self._columns]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        return np.array([numbers[name] for name in names], dtype=np.int64)


def _known(values: Floats) -> NDArray[np.bool_]:
    known: NDArray[np.bool_] = ~np.isnan(values if values.ndim == 1 else values[:, 0])
    return known
