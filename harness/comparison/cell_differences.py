"""Differences between the cells of one stored run, by every metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations

from harness.comparison.operand import Operand, operand_from_run
from harness.comparison.paired_values import CellPair, Pairing, SharedQuestions
from harness.metrics.named_metrics import stored_metric
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.differences import estimate_differences
from harness.store.cell_results import CellResult
from harness.store.reader import StoredRun

_COPY_METRIC = "context_overlap"
"""1 for every answer of a generator that copies from its context."""


class CellDifferences:
    """Compares the cells of one run; nothing is computed before it is asked for."""

    def __init__(self, stored: StoredRun) -> None:
        self.stored = stored
        self.run = stored.run
        self._cells = {cell.name: cell for cell in stored.run.cells}

    @cached_property
    def operand(self) -> Operand:
        """The run as an operand."""
        return operand_from_run(self.stored, finished=False)

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
            if cell != name
            for metric in self._comparable_metrics(cell, name)
        ]
        deciding = [
            place for place, (_, metric) in enumerate(tests) if metric == self.run.decide_by
        ]
        differences = estimate_differences(
            [self._pair(cell, name).pair(metric) for cell, metric in tests],
            self.run.provenance.seed,
            powered=deciding,
        )
        return dict(zip(tests, differences, strict=True))

    def between(
        self, metric: str, cell: str, others: Sequence[str]
    ) -> dict[str, DifferenceEstimate]:
        """Return the difference of a cell from each of the others by one metric.

        Their family is all pairs of these cells: which cell is looked at is seen in the data.
        """
        comparable = [other for other in others if not self._pair(cell, other).untested([metric])]
        rest = [self._pair(*names) for names in combinations(others, 2)]
        differences = estimate_differences(
            [self._pair(cell, other).pair(metric) for other in comparable],
            self.run.provenance.seed,
            [pair.pair(metric) for pair in rest if not pair.untested([metric])],
        )
        return dict(zip(comparable, differences, strict=True))

    def by_metric(self, cell: str, other: str) -> dict[str, DifferenceEstimate]:
        """Return the difference of a cell from another by every metric, as one family."""
        metrics, pair = self._comparable_metrics(cell, other), self._pair(cell, other)
        pairs = [pair.pair(name) for name in metrics]
        differences = estimate_differences(pairs, self.run.provenance.seed, powered=())
        return dict(zip(metrics, differences, strict=True))

    def finished(self, cell: str, others: Sequence[str]) -> dict[str, DifferenceEstimate]:
        """Return by how much a cell's share of questions that did not fail is above the others'.

        Only questions that both were asked count. The family is as of `between`.
        """
        differences = estimate_differences(
            [self._pair(cell, other).finished() for other in others],
            self.run.provenance.seed,
            [self._pair(*pair).finished() for pair in combinations(others, 2)],
            powered=(),
        )
        return dict(zip(others, differences, strict=True))

    def failed(self, cell: str) -> tuple[int, int]:
        """Return how many questions failed in a cell, and how many it was asked."""
        compared = self.operand.cells[cell]
        return int(compared.failed.sum()), int(compared.asked.sum())

    def is_constant(self, metric: str, cell: str) -> bool:
        """Return whether a metric, or a part of it, is 1 by construction in a cell."""
        about = self.run.provenance.metrics[metric]
        if not self._cells[cell].copies:
            return False
        parts: Sequence[str] = (about.spec,)
        if about.spec.partition("(")[0] == "composite":
            parts = getattr(stored_metric(about), "parts", ())
        return any(part.partition("(")[0] == _COPY_METRIC for part in parts)

    def cell(self, name: str) -> CellResult:
        """Return the cell of a name."""
        return self._cells[name]

    def _comparable_metrics(self, cell: str, other: str) -> list[str]:
        names = list(self.run.provenance.metrics)
        untested = self._pair(cell, other).untested(names)
        return [name for name in names if name not in untested]

    def _pair(self, cell: str, other: str) -> CellPair:
        return CellPair(self._shared, Pairing(other, cell))

    @cached_property
    def _shared(self) -> SharedQuestions:
        return SharedQuestions(self.operand, self.operand)
