"""Builds the metrics to evaluate with, and rejects those that need what is not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness import user_code
from harness.errors import SpecError
from harness.metrics import named_metrics
from harness.metrics.named_metrics import NamedMetric, label_of, leaf_metrics
from harness.metrics.needs import Need
from harness.records import Label


def build_metrics(
    metrics: Sequence[str],
    available: frozenset[Need],
    description: str,
    labels: Label | None = None,
    level: int = 1,
) -> list[NamedMetric]:
    """Return the metrics; raises `SpecError` with all that are unknown or need what is not there.

    `available` is what there is to score, and `description` says so.
    """
    selected: list[NamedMetric] = []
    errors: list[SpecError] = []
    for spec in metrics:
        try:
            with user_code.importing(Path()):
                named = named_metrics.build_metric(spec, labels, level)
        except SpecError as error:
            errors.append(error)
            continue
        parts = leaf_metrics(named.metric, labels, level)
        needs: set[str] = {need for part in parts for need in part.needs - available}
        needs |= {kind for part in parts if (kind := label_of(part)) and kind != "documents"}
        if needs:
            message = f"metric {named.name!r} needs {', '.join(sorted(needs))}"
            errors.append(SpecError(message, f"there is only {description}"))
        selected.append(named)
    if len(errors) > 1:
        raise SpecError("\n".join(map(str, errors)))
    if errors:
        raise errors[0]
    return selected
