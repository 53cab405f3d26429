"""A run's metrics as its reports look at them: their order, and how each may be read."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from harness import bands
from harness.metrics import Metric, metrics
from harness.ranked import Ranked
from harness.registry import in_full
from harness.stored import CellLine, RunFile

_COPIES = "context_overlap"
"""1 for every answer of a generator that copies from its context."""


class Measures:
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

    def divided(self, metric: str) -> bool:
        """Return whether a metric must not be read across the chunkers of this run."""
        return self.several_chunkers and self.run.provenance.metrics[metric].within_chunker

    def with_care(self, metric: str) -> bool:
        """Return whether a metric may be read across chunkers, but judges each one's own chunks."""
        about = self.run.provenance.metrics[metric]
        return self.several_chunkers and about.own_chunks and not about.within_chunker

    def bands(self, metric: str) -> tuple[float, ...]:
        """Return where the bands of a metric begin, worst first; none where it has no words."""
        return bands.starts(self.built(metric).name)

    def copied(self, cell: CellLine, metric: str) -> bool:
        """Return whether a metric is constant by construction in a cell."""
        spec = self.run.provenance.metrics[metric].spec
        return cell.copies and spec.partition("(")[0] == _COPIES

    def uncut(self, metric: str) -> bool:
        """Return whether a metric of rankings has no cut of its own."""
        built = self.built(metric)
        if "judge" in built.needs:
            return False  # it asks about a few, however many are retrieved
        return getattr(built, "k", 0) is None and getattr(built, "budget", None) is None

    @cached_property
    def ranked(self) -> dict[str, Ranked]:
        """The metrics of judged rankings, at the run's level of relevance, by name."""
        level = int(self.run.config["resolved"]["relevance_level"])
        built = {name: self.built(name) for name in self.metrics}
        return {
            name: metric if metric.rel else replace(metric, rel=level)
            for name, metric in built.items()
            if isinstance(metric, Ranked)
        }

    def in_full(self, metric: str) -> str:
        """Return a metric with every parameter and its value."""
        return in_full(self.built(metric))

    def built(self, metric: str) -> Metric:
        """Return a metric by its name."""
        return metrics.build(self.run.provenance.metrics[metric].spec)
