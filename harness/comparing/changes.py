"""What changed between two sides: configuration, data, models, metrics, code and libraries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from harness.comparing.sides import Side, SideCell
from harness.paths import portable

About = Literal[
    "config", "corpus", "test set", "model", "metric", "harness", "package", "machine", "cell"
]

ABSENT = "–"
_PLACES = frozenset({"output", "cache"})
"""Settings that say where things lie, and shape nothing."""
_MEASURED = "texts_per_second"
"""What a model is said to take on this machine, which differs from one run to the next."""


@dataclass(frozen=True)
class Change:
    """One thing that is not the same on both sides, as texts; `–` where one has it not."""

    about: About
    what: str
    before: str
    after: str


def changes(baseline: Side, run: Side) -> tuple[Change, ...]:
    """Return all that changed from one side to the other, the configuration first."""
    return tuple(_changes(baseline, run))


def between_cells(baseline: SideCell, run: SideCell) -> tuple[Change, ...]:
    """Return what two cells differ in: their components, and what shaped their results."""
    parts = tuple(_of("cell", dict(baseline.parts), dict(run.parts)))
    if parts or baseline.fingerprint == run.fingerprint:
        return parts
    return (Change("cell", "fingerprint", baseline.fingerprint, run.fingerprint),)


def _changes(baseline: Side, run: Side) -> Iterator[Change]:
    before, after = baseline.provenance, run.provenance
    yield from _of("config", _settings(baseline), _settings(run))
    yield from _of("corpus", before.corpus, after.corpus)
    yield from _of("corpus", {"collection": before.collection}, {"collection": after.collection})
    yield from _of("test set", before.testset, after.testset)
    yield from _of("test set", {"labels": before.labels}, {"labels": after.labels})
    yield from _of("model", _models(baseline), _models(run))
    for name in sorted(before.metrics.keys() | after.metrics.keys()):
        one, other = (
            {name: f"{about[name].spec}, version {about[name].version}"} if name in about else {}
            for about in (before.metrics, after.metrics)
        )
        yield from _of("metric", one, other)
    yield from _of("harness", _code(baseline), _code(run))
    yield from _of("package", before.packages, after.packages)
    yield from _of(
        "machine",
        {"python": before.python, "platform": before.platform},
        {"python": after.python, "platform": after.platform},
    )


def _settings(side: Side) -> Mapping[str, Any]:
    settings = side.config.get("resolved") or side.config.get("given") or {}
    return {key: value for key, value in settings.items() if key not in _PLACES}


def _models(side: Side) -> dict[str, Any]:
    """Return each model's identity by what uses it."""
    found: dict[str, Any] = {}
    for model in side.provenance.models:
        kept = {k: v for k, v in model.items() if k not in ("used_by", _MEASURED)}
        found.setdefault(str(model.get("used_by", "?")), []).append(kept)
    return {name: each[0] if len(each) == 1 else each for name, each in found.items()}


def _code(side: Side) -> dict[str, Any]:
    about = side.provenance
    dirty = " with changes" if about.git_dirty else ""
    commit = f"{about.git_commit}{dirty}" if about.git_commit else None
    return {"version": about.harness, "commit": commit}


def _of(about: About, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    old, new = dict(_leaves(portable(before))), dict(_leaves(portable(after)))
    for what in dict.fromkeys([*old, *new]):
        one, other = old.get(what, ABSENT), new.get(what, ABSENT)
        if one != other:
            yield Change(about, what, one, other)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each single value of nested settings by its dotted path, as text."""
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
        for at, each in enumerate(value):
            yield from _leaves(each, f"{path}[{at}]")
    elif value is not None:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
