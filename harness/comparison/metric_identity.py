"""Identity of a metric: all that its value depends on. Values compare only where it is equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from harness.text.decline_patterns import DECLINES

_MEASURED_KEYS = frozenset({"used_by", "texts_per_second", "runtime", "device", "precision"})
"""What is said of a metric's model that makes it run faster, not what it is."""
_COMPOSITE = "composite"
_DECLINE_METRICS = ("abstention", "decline_")


class Described(Protocol):
    """What a stored run says of a metric."""

    @property
    def spec(self) -> str:
        """Its name and its parameters."""
        ...

    @property
    def version(self) -> int:
        """Its version."""
        ...

    @property
    def kind(self) -> str:
        """Its kind: what its value says of quality."""
        ...

    @property
    def labels(self) -> str | None:
        """The kind of label that it judges a ranking by; None if it judges none."""
        ...


def metric_identity(
    metric: Described,
    labels: str,
    models: Iterable[Mapping[str, Any]],
    config: Mapping[str, Any],
) -> dict[str, Any]:
    """Return all that a metric's value depends on but what it was scored of, by its name.

    `labels` is the run's kind of label, `models` are all of its models, and `config` is its
    configuration as stored. Settings count where the metric reads them: what is relevant for those
    that judge a ranking, what is a decline for those that count declines.
    """
    name = metric.spec.partition("(")[0].partition("@")[0]
    own_models = [
        {key: value for key, value in model.items() if key not in _MEASURED_KEYS}
        for model in models
        if model.get("used_by") == name
    ]
    identity: dict[str, Any] = {
        "version": metric.version,
        "spec": metric.spec,
        "kind": metric.kind,
        "models": own_models,
    }
    resolved = config.get("resolved")
    settings: Mapping[str, Any] = resolved if isinstance(resolved, Mapping) else {}
    ranking = labels if name == _COMPOSITE else metric.labels
    if ranking is not None:
        identity["labels"] = ranking
        identity["relevance_level"] = settings.get("relevance_level", 1)
    if ranking == "evidence":
        identity["min_overlap"] = settings.get("min_overlap", 0.5)
    if name == _COMPOSITE or name.startswith(_DECLINE_METRICS):
        identity["decline_patterns"] = list(settings.get("decline_patterns") or DECLINES)
    return identity


def describe_difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return in words what two identities differ in first, "" where they are the same."""
    for key in dict.fromkeys([*before, *after]):
        one, two = before.get(key), after.get(key)
        if one == two:
            continue
        if key == "spec":
            return f"{one}, now {two}"
        if key == "models":
            return "the model that it scores with, its judge or its prompt is another"
        if key == "decline_patterns":
            return "`decline_patterns` are others"
        return f"{key} {one}, now {key} {two}"
    return ""
