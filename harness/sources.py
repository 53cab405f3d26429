"""Which reader a configured corpus or test set is read by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

from harness import corpus, testset
from harness.corpus import CorpusReader
from harness.errors import SpecError, suggest
from harness.registry import Registry
from harness.testset import TestsetReader


class _Reader(Protocol):
    @property
    def path(self) -> str: ...

    @classmethod
    def accepts(cls, path: Path) -> bool: ...


R = TypeVar("R", bound=_Reader)
Find = Callable[[str], str]
"""Turns a path as configured into one that exists, or raises `SpecError`."""


def corpus_reader(spec: str | Mapping[str, Any], find: Find) -> CorpusReader:
    """Return the reader for `PATH`, `{format: PATH}`, `{format: {...}}` or `{path: ..., ...}`."""
    return _reader(corpus.readers, spec, find)


def testset_reader(spec: str | Mapping[str, Any], find: Find) -> TestsetReader:
    """Return the reader for a test set; the same forms as for a corpus."""
    return _reader(testset.readers, spec, find)


def _reader(registry: Registry[R], spec: str | Mapping[str, Any], find: Find) -> R:
    if isinstance(spec, str):
        spec = {"path": spec}
    if "path" in spec:
        path = _found(spec["path"], find)
        name = _format(registry, path, set(spec))
        others = {key: value for key, value in spec.items() if key != "path"}
        found = {**spec, **_paths(registry[name], others, find), "path": path}
        return registry.build({name: found})
    if len(spec) != 1:
        raise SpecError(f"expected a path or one format, found {', '.join(map(str, spec))}")
    ((name, value),) = spec.items()
    params = dict(value) if isinstance(value, Mapping) else {"path": value}
    cls = registry[str(name)]  # an unknown format is said first
    if "path" not in params:
        raise SpecError(f"{registry.family} {name!r} has no path", f"write {{{name}: PATH}}")
    return registry.build({str(name): {**params, **_paths(cls, params, find)}})


def _paths(cls: type[R], params: Mapping[str, Any], find: Find) -> dict[str, str]:
    """Return where the paths among the parameters lead; a reader with several names them."""
    names = getattr(cls, "paths", ("path",))
    return {name: _found(params[name], find) for name in names if name in params}


def _found(path: Any, find: Find) -> str:
    if not isinstance(path, str) or not path:
        raise SpecError(f"the path must be a text, not {path!r}")
    return find(path)


def _format(registry: Registry[R], path: str, wanted: set[str]) -> str:
    """Return the most particular format that accepts what lies at `path`."""
    names = [name for name in registry if registry[name].accepts(Path(path))]
    if not names:
        raise SpecError(
            f"{path!r} is of no known format", f"name it, {{format: PATH}}; {suggest('', registry)}"
        )
    takes = {name: {each.name for each in fields(registry[name])} for name in names}  # type: ignore[arg-type]
    suitable = [name for name in names if wanted <= takes[name]] or names
    return min(suitable, key=lambda name: (name == "folder", name))
