"""What the labels say of a cell's rankings: the best that could be reached, and what is judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.metrics import Bounded, Metric
from harness.stored import RecordLine, RunFile


@dataclass(frozen=True)
class Labelled:
    """What the labels say of a cell's rankings, by metric.

    `bounds` are the highest value of each question that is scored, `known` of each result that is
    read whether anybody judged it, 0 or 1.
    """

    bounds: Mapping[str, list[float]]
    known: Mapping[str, bytearray]


def labelled(
    run: RunFile, metrics: Mapping[str, Metric], records: Iterable[RecordLine]
) -> Labelled:
    """Go through a cell's rankings once, for all metrics of the run, which are given by name."""
    bounded = {name: each for name, each in metrics.items() if isinstance(each, Bounded)}
    depths = {
        name: getattr(each, "k", None)
        for name, each in metrics.items()
        if run.provenance.metrics[name].labels == "documents"
    }
    found = Labelled({name: [] for name in bounded}, {name: bytearray() for name in depths})
    for record in records if bounded or depths else ():
        for name, metric in bounded.items():
            judged = record.judged.get(metric.labels or "documents")
            if (
                record.scores[name].value is not None
                and judged is not None
                and judged.inventory is not None
            ):
                found.bounds[name].append(metric.bound(tuple(judged.inventory)))
        grades = record.judged["documents"].grades if "documents" in record.judged else []
        for name, k in depths.items():
            if record.scores[name].value is not None:
                found.known[name].extend(grade is not None for grade in grades[:k])
    return found
