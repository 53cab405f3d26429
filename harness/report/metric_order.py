"""Order and properties of a run's metrics, as its reports need them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from harness.metrics import Metric
from harness.metrics.judged_ranking import JudgedRankingMetric
from harness.metrics.named_metrics import stored_metric
from harness.registry import full_label
from harness.report import bands
from harness.store.cell_results import CellResult
from harness.store.run_file import RunFile

_COPY_METRIC = "context_overlap"
"""1 for every answer of a generator that copies from its context."""


class MetricOrder:
    """Read-only questions about the metrics of one run."""

    def __init__(self, run: RunFile) -> None:
        self.run = run
        self.by = run.decide_by

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics' names, the deciding one first."""
        names = list(self.run.provenance.metrics)
        return sorted(names, key=lambda name: name != self.by)

    @cached_property
    def several_chunkers(self) -> bool:
        """Whether the cells differ in their chunkers."""
        return len({cell.chunker for cell in self.run.cells}) > 1

    def is_per_chunker(self, metric: str) -> bool:
        """Return whether a metric must not be read across the chunkers of this run."""
        return self.several_chunkers and self.run.provenance.metrics[metric].within_chunker

    def needs_care(self, metric: str) -> bool:
        """Return whether a metric may be read across chunkers, but judges each one's own chunks."""
        about = self.run.provenance.metrics[metric]
        return self.several_chunkers and about.own_chunks and not about.within_chunker

    def bands(self, metric: str) -> tuple[float, ...]:
        """Return where the bands of a metric begin, worst first; none where it has no words."""
        return bands.starts(self.build_metric(metric).name)

    def is_copied(self, cell: CellResult, metric: str) -> bool:
        """Return whether a metric is constant by construction in a cell."""
        spec = self.run.provenance.metrics[metric].spec
        return cell.copies and spec.partition("(")[0] == _COPY_METRIC

    def has_no_cutoff(self, metric: str) -> bool:
        """Return whether a metric of rankings has no cut of its own."""
        built = self.build_metric(metric)
        if "judge" in built.needs:
            return False  # it asks about a few, however many are retrieved
        return getattr(built, "k", 0) is None and getattr(built, "budget", None) is None

    @cached_property
    def ranked(self) -> dict[str, JudgedRankingMetric]:
        """The metrics of judged rankings, at the run's level of relevance, by name."""
        level = int(self.run.config["resolved"]["relevance_level"])
        built = {name: self.build_metric(name) for name in self.metrics}
        return {
            name: metric if metric.rel else replace(metric, rel=level)
            for name, metric in built.items()
            if isinstance(metric, JudgedRankingMetric)
        }

    def in_full(self, metric: str) -> str:
        """Return a metric with every parameter and its value."""
        return full_label(self.build_metric(metric))

    def build_metric(self, metric: str) -> Metric:
        """Return a metric by its name."""
        return stored_metric(self.run.provenance.metrics[metric])
