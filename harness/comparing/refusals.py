"""Why two sides must not be compared, unless a flag says to compare what they share."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from harness.comparing.sides import Incomparable, Side
from harness.comparing.yardstick import other, yardstick

Allowed = Literal["testset", "corpus", "metrics"]
ALLOWED: tuple[Allowed, ...] = ("testset", "corpus", "metrics")

_ALLOWING: dict[Allowed, str] = {
    "testset": "--allow testset compares the questions that are the same on both sides",
    "corpus": "--allow corpus compares all the same; what is found may be the documents' doing",
    "metrics": "--allow metrics leaves these out",
}
_MENDING: dict[Allowed, str] = {
    "testset": "run the whole test set of the baseline; or promote a run of this one",
    "corpus": "run with the corpus of the baseline; or promote a run with this one",
    "metrics": "run with the baseline's settings; or promote a run with these",
}
"""What to do where nothing can be allowed: a gate judges what is the same."""


def check(
    baseline: Side,
    run: Side,
    metrics: Collection[str],
    allow: Collection[Allowed],
    advised: bool = False,
) -> None:
    """Raise `Incomparable` with every reason why not, but for those that are allowed.

    `metrics` are those to be compared by that both sides have. `advised` says that the command has
    the option `--allow`, and how it is named.
    """
    found = [each for each in _reasons(baseline, run, metrics) if each[0] not in allow]
    if found:
        lines = [f"{run.id} cannot be compared with {baseline.id}:"]
        for kind, said in found:
            lines += [f"  {line}" for line in said]
            lines.append(f"    {_ALLOWING[kind] if advised else _MENDING[kind]}")
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
            ],
        )
    if before.corpus.get("hash") != after.corpus.get("hash"):
        yield (
            "corpus",
            [
                f"the corpus is another: {_named(before.corpus)}, now {_named(after.corpus)}",
            ],
        )
    changed = changed_metrics(baseline, run, metrics)
    if changed:
        yield (
            "metrics",
            [
                *(f"metric {name}: {why}" for name, why in changed.items()),
                "  python -m harness score RUN scores a stored run by the metrics of today",
            ],
        )


def _named(about: Mapping[str, Any]) -> str:
    return f"{about.get('path') or 'not known'} ({about.get('hash') or 'no hash'})"


def _differs(baseline: Side, run: Side, name: str) -> str:
    """Return why a metric is not the same on both sides, "" where it is."""
    before, after = _yardstick(baseline, name), _yardstick(run, name)
    if why := other(before, after):
        return why
    one, two = _counts(baseline, name), _counts(run, name)
    return f"{one} counts a question, now {two}" if one and two and one != two else ""


def _yardstick(side: Side, name: str) -> dict[str, Any]:
    about = side.provenance
    return yardstick(about.metrics[name], about.labels, about.models, side.config)


def _counts(side: Side, name: str) -> int:
    """Return how many counts a question has by a metric of the whole set; 0 where none has any."""
    lines = (
        result.scores.get(name) for cell in side.cells.values() for result in cell.results.values()
    )
    return next((len(line.counts) for line in lines if line is not None and line.counts), 0)
