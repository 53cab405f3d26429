"""Checks whether two operands may be compared, and says why not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from harness.comparison.metric_identity import describe_difference, metric_identity
from harness.comparison.operand import Incomparable, Operand

Allowed = Literal["testset", "corpus", "metrics"]
ALLOWED: tuple[Allowed, ...] = ("testset", "corpus", "metrics")

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
    before, after = baseline.provenance, run.provenance
    if before.testset.get("hash") != after.testset.get("hash"):
        yield (
            "testset",
            [
                f"the test set is another: {_describe_input(before.testset)}, "
                f"now {_describe_input(after.testset)}",
            ],
        )
    if before.corpus.get("hash") != after.corpus.get("hash"):
        yield (
            "corpus",
            [
                f"the corpus is another: {_describe_input(before.corpus)}, "
                f"now {_describe_input(after.corpus)}",
            ],
        )
    changed = changed_metrics(baseline, run, metrics)
    if changed:
        yield (
            "metrics",
            [
                *(f"metric {name}: {reason}" for name, reason in changed.items()),
                "  python -m harness score RUN scores a stored run by the metrics of today",
            ],
        )


def _describe_input(about: Mapping[str, Any]) -> str:
    return f"{about.get('path') or 'not known'} ({about.get('hash') or 'no hash'})"


def _describe_metric_change(baseline: Operand, run: Operand, name: str) -> str:
    """Return why a metric is not the same on both sides, "" where it is."""
    before, after = _stored_identity(baseline, name), _stored_identity(run, name)
    if reason := describe_difference(before, after):
        return reason
    one, two = _count_length(baseline, name), _count_length(run, name)
    return f"{one} counts a question, now {two}" if one and two and one != two else ""


def _stored_identity(side: Operand, name: str) -> dict[str, Any]:
    about = side.provenance
    return metric_identity(about.metrics[name], about.labels, about.models, side.config)


def _count_length(side: Operand, name: str) -> int:
    """Return how many counts a question has by a metric of the whole set; 0 where none has any."""
    lines = (
        result.scores.get(name) for cell in side.cells.values() for result in cell.results.values()
    )
    return next((len(line.counts) for line in lines if line is not None and line.counts), 0)
