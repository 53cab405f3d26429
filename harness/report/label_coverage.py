"""Measures how far labels cover a cell's rankings: highest possible scores, judged share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.metrics import Metric
from harness.store.frame import Frame
from harness.store.run_file import RunFile


@dataclass(frozen=True)
class LabelCoverage:
    """What the labels say of a cell's rankings, by metric.

    `bounds` are the highest value of each question that is scored, `known` of each result that is
    read whether anybody judged it, 0 or 1.
    """

    bounds: Mapping[str, list[float]]
    known: Mapping[str, bytearray]


def measure_coverage(run: RunFile, metrics: Mapping[str, Metric], frame: Frame) -> LabelCoverage:
    """Go through a cell's rankings once, for all metrics of the run, which are given by name."""
    bounded: dict[str, Any] = {
        name: metric for name, metric in metrics.items() if hasattr(metric, "bound")
    }
    depths = {
        name: getattr(metric, "k", None)
        for name, metric in metrics.items()
        if run.provenance.metrics[name].labels == "documents"
    }
    coverage = LabelCoverage({name: [] for name in bounded}, {name: bytearray() for name in depths})
    names = {*bounded, *depths}
    scored = {name: (~np.isnan(frame.value[name])).tolist() for name in names}
    for place, ranking in enumerate(frame.traces if names else ()):
        for name, metric in bounded.items():
            judged = ranking.judged.get(metric.labels or "documents")
            if scored[name][place] and judged is not None and judged.inventory is not None:
                coverage.bounds[name].append(metric.bound(tuple(judged.inventory)))
        grades = ranking.judged["documents"].grades if "documents" in ranking.judged else ()
        for name, k in depths.items():
            if scored[name][place]:
                coverage.known[name].extend(grade is not None for grade in grades[:k])
    return coverage
