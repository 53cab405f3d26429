"""Holds an @k measure across chunkers against the same measure at 1,000 tokens.

At k chunks, larger chunks give the model more to read; at 1,000 tokens all give the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.comparison.cell_differences import CellDifferences
from harness.errors import HarnessError
from harness.metrics import named_metrics
from harness.runs import scoring
from harness.runs.outcomes import make_cases

_AT_K = re.compile(r"(.+)@\d+")
_TOKENS = "1000t"


@dataclass(frozen=True)
class EqualText:
    """The mean of `metric`, at 1,000 tokens, of the best cell of each chunker, best first."""

    metric: str
    means: Mapping[str, float]

    @property
    def first(self) -> str:
        """The cell that is the best at equal text."""
        return next(iter(self.means))


def hold_at_equal_text(contrasts: CellDifferences, names: Sequence[str]) -> EqualText | None:
    """Return the deciding measure at 1,000 tokens; None where it has none, or of one chunker.

    `names` are the cells to choose from, best first.
    """
    run = contrasts.run
    best: dict[str, str] = {}
    for name in names:
        best.setdefault(contrasts.cell(name).chunker, name)
    at_k = _AT_K.fullmatch(run.provenance.metrics[run.decide_by].spec)
    if len(best) < 2 or at_k is None:
        return None
    try:
        metric = named_metrics.build_metric(f"{at_k[1]}@{_TOKENS}")
    except HarnessError:
        return None
    means = {
        name: mean for name in best.values() if (mean := _mean(contrasts, name, metric)) is not None
    }
    if len(means) < len(best):
        return None
    return EqualText(metric.name, dict(sorted(means.items(), key=lambda item: -item[1])))


def _mean(contrasts: CellDifferences, cell: str, metric: named_metrics.NamedMetric) -> float | None:
    """Return the mean as the run has it, else of its records; a failed question counts 0."""
    scored = contrasts.cell(cell).scores.get(metric.name)
    if scored is not None:
        return scored.mean
    stored = contrasts.stored
    values = []
    for record in stored.records_of([cell]):
        cases = make_cases(record, stored.questions[record.question], stored.texts)
        scores = [row[metric.name] for row in scoring.score_all([metric], cases)]
        finished = [score.value for score in scores if score.value is not None]
        if finished or any(score.state == "failed" for score in scores):
            values.append(fmean(finished) if finished else 0.0)
    return fmean(values) if values else None
