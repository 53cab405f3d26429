"""Why two sides must not be compared, unless a flag says to compare what they share."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from harness.comparing.sides import Incomparable, Side

Allowed = Literal["testset", "corpus", "metrics"]
ALLOWED: tuple[Allowed, ...] = ("testset", "corpus", "metrics")

_MEASURED = frozenset({"used_by", "texts_per_second", "runtime", "device", "precision"})
"""What is said of a metric's model that makes it run faster, not what it is."""


def check(baseline: Side, run: Side, metrics: Collection[str], allow: Collection[Allowed]) -> None:
    """Raise `Incomparable` with every reason why not, but for those that are allowed.

    `metrics` are those to be compared by that both sides have.
    """
    found = [(kind, said) for kind, said in _reasons(baseline, run, metrics) if kind not in allow]
    if found:
        lines = [f"{run.id} cannot be compared with {baseline.id}:"]
        lines += [f"  {line}" for _, said in found for line in said]
        raise Incomparable("\n".join(lines))


def changed_metrics(baseline: Side, run: Side, metrics: Collection[str]) -> dict[str, str]:
    """Return why each of the metrics is not the same on both sides; nothing of those that are."""
    found = {name: _differs(baseline, run, name) for name in metrics}
    return {name: why for name, why in found.items() if why}


def _reasons(
    baseline: Side, run: Side, metrics: Collection[str]
) -> Iterator[tuple[Allowed, list[str]]]:
    before, after = baseline.provenance, run.provenance
    if before.testset.get("hash") != after.testset.get("hash"):
        yield (
            "testset",
            [
                f"the test set is another: {_named(before.testset)}, now {_named(after.testset)}",
                "  --allow testset compares the questions that are the same on both sides",
            ],
        )
    if before.corpus.get("hash") != after.corpus.get("hash"):
        yield (
            "corpus",
            [
                f"the corpus is another: {_named(before.corpus)}, now {_named(after.corpus)}",
                "  --allow corpus compares all the same; what is found may be the documents' doing",
            ],
        )
    changed = changed_metrics(baseline, run, metrics)
    if changed:
        yield (
            "metrics",
            [
                *(f"metric {name}: {why}" for name, why in changed.items()),
                "  python -m harness score RUN scores a stored run by the metrics of today;",
                "  --allow metrics leaves these out",
            ],
        )


def _named(about: Mapping[str, Any]) -> str:
    return f"{about.get('path') or 'not known'} ({about.get('hash') or 'no hash'})"


def _differs(baseline: Side, run: Side, name: str) -> str:
    """Return why a metric is not the same on both sides, "" where it is."""
    before, after = baseline.provenance.metrics[name], run.provenance.metrics[name]
    if before.version != after.version:
        return f"version {before.version}, now version {after.version}"
    if before.spec != after.spec:
        return f"{before.spec}, now {after.spec}"
    if _model(baseline, before.spec) != _model(run, after.spec):
        return "the model that it scores with, its judge or its prompt is another"
    return ""


def _model(side: Side, spec: str) -> list[dict[str, Any]]:
    """Return what is said of the models that a metric scores with."""
    name = spec.partition("(")[0].partition("@")[0]
    return [
        {key: value for key, value in model.items() if key not in _MEASURED}
        for model in side.provenance.models
        if model.get("used_by") == name
    ]
