"""Checks whether two operands may be compared, and says why not; what a metric depends on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

import numpy as np

from harness.comparison.operand import Incomparable, Operand
from harness.store.run_file import MetricDescription
from harness.text.decline_patterns import DECLINES

Allowed = Literal["testset", "corpus", "metrics"]

_ALLOW_HINTS: dict[Allowed, str] = {
    "testset": "--allow testset compares the questions that are the same on both sides",
    "corpus": "--allow corpus compares all the same; what is found may be the documents' doing",
    "metrics": "--allow metrics leaves these out",
}
_REMEDIES: dict[Allowed, str] = {
    "testset": "run the whole test set of the baseline; or promote a run of this one",
    "corpus": "run with the corpus of the baseline; or promote a run with this one",
    "metrics": "run with the baseline's settings; or promote a run with these",
}
"""What to do where nothing can be allowed: a gate judges what is the same."""
_MEASURED_KEYS = frozenset({"used_by", "runtime", "device", "precision"})
"""What is said of a metric's model that makes it run faster, not what it is."""
_COMPOSITE = "composite"
_DECLINE_METRICS = ("abstention", "decline_")


def check_comparable(
    baseline: Operand,
    run: Operand,
    metrics: Collection[str],
    allow: Collection[Allowed],
    advised: bool = False,
) -> None:
    """Raise `Incomparable` with every reason why not, but for those that are allowed.

    `metrics` are those to be compared by that both sides have. `advised` says that the command has
    the option `--allow`, and how it is named.
    """
    reasons = [reason for reason in list_reasons(baseline, run, metrics) if reason[0] not in allow]
    if reasons:
        lines = [f"{run.id} cannot be compared with {baseline.id}:"]
        for kind, messages in reasons:
            lines += [f"  {line}" for line in messages]
            lines.append(f"    {_ALLOW_HINTS[kind] if advised else _REMEDIES[kind]}")
        raise Incomparable("\n".join(lines))


def changed_metrics(baseline: Operand, run: Operand, metrics: Collection[str]) -> dict[str, str]:
    """Return why each of the metrics is not the same on both sides; nothing of those that are."""
    reasons = {name: _describe_metric_change(baseline, run, name) for name in metrics}
    return {name: reason for name, reason in reasons.items() if reason}


def list_reasons(
    baseline: Operand, run: Operand, metrics: Collection[str]
) -> Iterator[tuple[Allowed, list[str]]]:
    """Yield each reason why two operands may not be compared, and what allows it."""
    inputs: tuple[tuple[Allowed, str, Any, Any], ...] = (
        ("testset", "test set", baseline.provenance.testset, run.provenance.testset),
        ("corpus", "corpus", baseline.provenance.corpus, run.provenance.corpus),
    )
    for kind, name, before, after in inputs:
        if before.get("hash") != after.get("hash"):
            was, now = _describe_input(before), _describe_input(after)
            yield kind, [f"the {name} is another: {was}, now {now}"]
    changed = changed_metrics(baseline, run, metrics)
    if changed:
        lines = [f"metric {name}: {reason}" for name, reason in changed.items()]
        hint = "  python -m harness score RUN scores a stored run by the metrics of today"
        yield "metrics", [*lines, hint]


def _describe_input(about: Mapping[str, Any]) -> str:
    return f"{about.get('path') or 'not known'} ({about.get('hash') or 'no hash'})"


def _describe_metric_change(baseline: Operand, run: Operand, name: str) -> str:
    """Return why a metric is not the same on both sides, "" where it is."""
    before, after = (
        metric_identity(
            side.provenance.metrics[name],
            side.provenance.labels,
            side.provenance.models,
            side.config,
        )
        for side in (baseline, run)
    )
    if reason := describe_difference(before, after):
        return reason
    one, two = _count_length(baseline, name), _count_length(run, name)
    return f"{one} counts a question, now {two}" if one and two and one != two else ""


def _count_length(side: Operand, name: str) -> int:
    """Return how many counts a question has by a metric of the whole set; 0 where none has any."""
    columns = [cell.columns[name].values for cell in side.cells.values() if name in cell.columns]
    return max((v.shape[1] for v in columns if v.ndim == 2 and not np.isnan(v).all()), default=0)


def metric_identity(
    metric: MetricDescription,
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
