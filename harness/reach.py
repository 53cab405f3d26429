"""How far the paths of a configuration may lead: into its project, and no further."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from harness import paths
from harness.arguments import Arguments
from harness.errors import SpecError
from harness.registry import parse

ALLOWED = "HARNESS_ALLOW_OUTSIDE"
_NESTED = 4
"""How deep in each other specs on one line are looked into; components do not go deeper."""


@dataclass(frozen=True)
class Reach:
    """The project of a configuration: its folder, and the working directory.

    What leads out of it, links followed, is refused, but for a path that the person typed: `own`
    holds the texts of the command line and of `HARNESS_<KEY>`, and `outside` the keys they are of.
    `anywhere` allows every path. No key of the file does: a file of somebody else's must not allow
    itself anything.
    """

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    outside: Mapping[str, str] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    anywhere: bool = False

    def find(self, key: str, path: str) -> str:
        """Return where a path that stands under `key` leads.

        Raises:
            SpecError: it is not there, or out of the project.
        """
        found = paths.found(path, self.folder, key in self.outside, self.environment)
        self.check(path, found)
        return found

    def check(self, path: str, found: str | None = None) -> None:
        """Raise `SpecError` where `path`, found at `found`, is out of the project."""
        if self.anywhere or path in self.own:
            return
        real = Path(path if found is None else found).resolve()
        places = list(dict.fromkeys([self.folder.resolve(), Path().resolve()]))
        if not any(real.is_relative_to(place) for place in places):
            raise SpecError(
                f"{path!r} leads out of the project, to {str(real)!r}",
                f"the project is {' and '.join(map(str, places))}; if it is meant: --allow-outside",
            )

    def check_models(self, component: Any) -> None:
        """Raise `SpecError` where a component names a folder out of the project."""
        for text in _texts(component):
            try:
                named = Path(text).is_dir()
            except (OSError, ValueError):  # too long for a path
                continue
            if named:
                self.check(text)


def allowed(environment: Mapping[str, str]) -> bool:
    """Return whether the environment lets paths lead anywhere."""
    return environment.get(ALLOWED, "").lower() in ("1", "true", "yes", "on")


def typed(values: Iterable[Any]) -> frozenset[str]:
    """Return all texts in what a person typed, a model's file without `gguf:`."""
    found = {text for value in values for text in _texts(value)}
    return frozenset(found | {text.removeprefix("gguf:") for text in found})


def _texts(value: Any, nested: int = _NESTED) -> Iterator[str]:
    """Yield each text in a value or a component, and in the specs that are such texts."""
    inner: list[Any] = []
    if isinstance(value, str):
        yield value
        if nested:
            with suppress(SpecError):
                inner = [*parse(value)[1].values()]
            nested -= 1
    elif isinstance(value, Arguments):
        inner = [value.identity()]
    elif isinstance(value, Mapping):
        inner = [*value, *value.values()]
    elif isinstance(value, list | tuple):
        inner = [*value]
    elif is_dataclass(value):
        parts = getattr(value, "parts", ())  # the names of what a composite metric is made of
        inner = [getattr(value, each.name) for each in fields(value)]
        inner += parts if isinstance(parts, tuple) else ()
    for each in inner:
        yield from _texts(each, nested)
