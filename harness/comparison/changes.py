"""What changed between two sides: configuration, data, models, metrics, code and libraries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.comparison.operand import Operand, OperandCell
from harness.files.paths import make_portable
from harness.store.run_file import RunFile
from harness.text.escaping import shorten

ChangeKind = Literal[
    "config", "corpus", "test set", "model", "metric", "harness", "package", "machine", "cell"
]

ABSENT = "–"
_PATH_SETTINGS = frozenset({"output", "cache"})
"""Settings that say where things lie, and shape nothing."""

_HASH_KEYS = frozenset({"hash", "weights", "fingerprint"})
_HASH = re.compile(r"[0-9a-f]{12,64}…?")
_COMMIT = re.compile(r"\b([0-9a-f]{7})[0-9a-f]{33}\b")
_CONTENTS = {"corpus": "documents", "test set": "questions"}
_SINGULAR = {
    name: name[:-1]
    for name in ("chunkers", "embedders", "retrievers", "rerankers", "generators", "metrics")
}
_MAX_VALUE = 60
"""Characters of a value in words."""


@dataclass(frozen=True)
class Change:
    """One thing that is not the same on both sides, as texts; `–` where one has it not."""

    about: ChangeKind
    what: str
    before: str
    after: str


def describe(change: Change) -> str:
    """Return a change in plain words: `retrieve 20 → 50`, `corpus: other documents`."""
    before, after = (_COMMIT.sub(r"\1", text) for text in (change.before, change.after))
    subject = _subject(change)
    if change.what == "hash" and change.about in _CONTENTS:
        return f"{change.about}: other {_CONTENTS[change.about]}"
    if _is_hash(change) or (_HASH.fullmatch(before) and _HASH.fullmatch(after)):
        return f"{subject} changed"
    if ABSENT in (before, after):
        verb, value = ("added", after) if before == ABSENT else ("removed", before)
        return f"{subject} {verb}: {shorten(value, _MAX_VALUE)}"
    return f"{subject} {shorten(before, _MAX_VALUE)} → {shorten(after, _MAX_VALUE)}"


def select_notable(changes: Iterable[Change]) -> list[Change]:
    """Return the changes without those that others say in better words.

    A hash goes where another change of the same thing is there; models and metrics that came and
    went go where the configuration changed, which names them.
    """
    changes = list(changes)
    named = {change.about for change in changes if not _is_hash(change)}
    return [
        change
        for change in changes
        if not (_is_hash(change) and change.about in named)
        and not (
            change.about in ("model", "metric")
            and "config" in named
            and ABSENT in (change.before, change.after)
        )
    ]


def _subject(change: Change) -> str:
    """Return what changed: `chunker fixed: size` for `chunkers.fixed.size`."""
    first, *rest = change.what.split(".")
    if change.about == "config":
        first = _SINGULAR.get(first, first)
        return (
            f"{first} {rest[0]}: {' '.join(rest[1:])}"
            if len(rest) > 1
            else " ".join([first, *rest])
        )
    subject = f"{first}: {' '.join(rest)}" if rest else first
    named = change.about in ("corpus", "test set", "model", "metric", "harness")
    return f"{change.about} {subject}" if named else subject


def _is_hash(change: Change) -> bool:
    return change.what.rpartition(".")[2] in _HASH_KEYS


def changes(baseline: Operand | RunFile, run: Operand | RunFile) -> tuple[Change, ...]:
    """Return all that changed from one side to the other, the configuration first."""
    return tuple(
        change
        for (about, before), (_, after) in zip(_parts(baseline), _parts(run), strict=True)
        for change in _compare_settings(about, before, after)
    )


def between_cells(baseline: OperandCell, run: OperandCell) -> tuple[Change, ...]:
    """Return what two cells differ in: their components, and what shaped their results."""
    parts = tuple(_compare_settings("cell", dict(baseline.parts), dict(run.parts)))
    if parts or baseline.fingerprint == run.fingerprint:
        return parts
    return (Change("cell", "fingerprint", baseline.fingerprint, run.fingerprint),)


def _parts(side: Operand | RunFile) -> list[tuple[ChangeKind, Mapping[str, Any]]]:
    """Return all that may have changed, in the order in which it is said."""
    about = side.provenance
    dirty = " with changes" if about.git_dirty else ""
    commit = f"{about.git_commit}{dirty}" if about.git_commit else None
    metrics = {
        name: f"{line.spec}, version {line.version}" for name, line in sorted(about.metrics.items())
    }
    return [
        ("config", _settings(side)),
        ("corpus", about.corpus),
        ("corpus", {"collection": about.collection}),
        ("test set", about.testset),
        ("test set", {"labels": about.labels}),
        ("model", _models(side)),
        ("metric", metrics),
        ("harness", {"version": about.harness, "commit": commit}),
        ("package", about.packages),
        ("machine", {"python": about.python, "platform": about.platform}),
    ]


def _settings(side: Operand | RunFile) -> Mapping[str, Any]:
    settings = side.config.get("resolved") or side.config.get("given") or {}
    return {key: value for key, value in settings.items() if key not in _PATH_SETTINGS}


def _models(side: Operand | RunFile) -> dict[str, Any]:
    """Return each model's identity by what uses it."""
    identities: dict[str, Any] = {}
    for model in side.provenance.models:
        identity = {k: v for k, v in model.items() if k != "used_by"}
        identities.setdefault(str(model.get("used_by", "?")), []).append(identity)
    return {name: models[0] if len(models) == 1 else models for name, models in identities.items()}


def _compare_settings(
    about: ChangeKind, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Change]:
    if before == after:  # of many runs most parts are equal, and making them portable is most work
        return
    for path, one, other in _differences(make_portable(before), make_portable(after), ""):
        yield Change(about, path, one, other)


def _differences(one: Any, other: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield the dotted path of each setting that differs, and its two values as texts."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            inner = f"{path}.{key}" if path else str(key)
            yield from _differences(one.get(key), other.get(key), inner)
    elif _is_named(one or []) and _is_named(other or []):
        yield from _component_differences(one or [], other or [], path)
    elif (before := _text(one)) != (after := _text(other)):
        yield path, before, after


def _component_differences(
    one: Sequence[Any], other: Sequence[Any], path: str
) -> Iterator[tuple[str, str, str]]:
    """Yield which components of a list came and went, or the parameters that differ in them."""
    gone = [part for part in one if part not in other]
    new = [part for part in other if part not in one]
    names = [*map(_name, gone), *map(_name, new)]
    if gone and names[: len(gone)] == names[len(gone) :]:
        for name, before, after in zip(names, gone, new, strict=False):
            one, other = ({} if part == name else part[name] for part in (before, after))
            yield from _differences(one, other, f"{path}.{name}")
    elif gone or new:
        before, after = (
            ", ".join(
                _name(part) if names.count(_name(part)) == 1 else _text(part) for part in parts
            )
            for parts in (gone, new)
        )
        yield path, before or ABSENT, after or ABSENT
    elif one != other:
        yield path, _text(one), _text(other)


def _is_named(value: Any) -> bool:
    """Return whether a value is a list of components: names, or mappings of a name alone."""
    return isinstance(value, list) and all(
        isinstance(part, str)
        or (isinstance(part, Mapping) and [*map(type, part.values())] == [dict])
        for part in value
    )


def _name(component: Any) -> str:
    return component if isinstance(component, str) else str(next(iter(component)))


def _text(value: Any) -> str:
    """Return a setting as text: `chunks 5, tokens 1500` for a mapping, `–` for nothing."""
    if value is None or value in ([], {}):
        return ABSENT
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(part)}" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
