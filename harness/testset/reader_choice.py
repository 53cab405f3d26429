"""Choose the reader of a corpus or test set, named in a configuration or by a command."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from harness import corpus, testset
from harness.corpus import CorpusReader
from harness.errors import SpecError, suggest
from harness.files import paths, yaml_lines
from harness.files.reading import FileShape
from harness.registry import Registry
from harness.testset import TestsetReader


class _Reader(Protocol):
    shape: ClassVar[FileShape]

    @property
    def path(self) -> str: ...


R = TypeVar("R", bound=_Reader)
Find = Callable[[str], str]
"""Turns a path as configured into one that exists, or raises `SpecError`."""


def corpus_reader(spec: str | Mapping[str, Any], find: Find) -> CorpusReader:
    """Return the reader for `PATH`, `{format: PATH}`, `{format: {...}}` or `{path: ..., ...}`."""
    return _build_reader(corpus.readers, spec, find)


def testset_reader(spec: str | Mapping[str, Any], find: Find) -> TestsetReader:
    """Return the reader for a test set; the same forms as for a corpus."""
    return _build_reader(testset.readers, spec, find)


def named_corpus_reader(text: str) -> CorpusReader:
    """Return the reader of a corpus that a command names: `PATH`, or `{format: ...}` in YAML.

    Raises:
        SpecError: it is not YAML, not there, or of no known format.
    """
    spec = text
    if text.lstrip().startswith("{"):
        try:
            spec = yaml_lines.parse_value(text)
        except ValueError as error:
            raise SpecError(f"the corpus: {error}", "write it like {beir: FOLDER}") from None
    return corpus_reader(spec, find_path)


def find_path(path: str) -> str:
    """Return where a path leads, from the working directory; `SpecError` if it is not there."""
    return paths.find(path, Path(), True, os.environ)


def _build_reader(registry: Registry[R], spec: str | Mapping[str, Any], find: Find) -> R:
    if isinstance(spec, str):
        spec = {"path": spec}
    if "path" in spec:
        path = _find_path(spec["path"], find)
        name = _choose_format(registry, path, set(spec))
        others = {key: value for key, value in spec.items() if key != "path"}
        parameters = {**spec, **_find_paths(registry[name], others, find), "path": path}
        return registry.build({name: parameters})
    if len(spec) != 1:
        raise SpecError(f"expected a path or one format, found {', '.join(map(str, spec))}")
    ((name, value),) = spec.items()
    params = dict(value) if isinstance(value, Mapping) else {"path": value}
    cls = registry[str(name)]  # an unknown format is said first
    if "path" not in params:
        raise SpecError(f"{registry.family} {name!r} has no path", f"write {{{name}: PATH}}")
    return registry.build({str(name): {**params, **_find_paths(cls, params, find)}})


def _find_paths(cls: type[R], params: Mapping[str, Any], find: Find) -> dict[str, str]:
    """Return where the paths among the parameters lead; a reader with several names them."""
    names = getattr(cls, "paths", ("path",))
    return {name: _find_path(params[name], find) for name in names if name in params}


def _find_path(path: Any, find: Find) -> str:
    if not isinstance(path, str) or not path:
        raise SpecError(f"the path must be a text, not {path!r}")
    return find(path)


def _choose_format(registry: Registry[R], path: str, parameters: set[str]) -> str:
    """Return the most particular format that fits what lies at `path`."""
    names = [name for name in registry if registry[name].shape.fits(Path(path))]
    if not names:
        raise SpecError(
            f"{path!r} is of no known format", f"name it, {{format: PATH}}; {suggest('', registry)}"
        )
    takes = {name: {item.name for item in fields(registry[name])} for name in names}  # type: ignore[arg-type]
    suitable = [name for name in names if parameters <= takes[name]] or names
    return min(suitable, key=lambda name: (name == "folder", name))
