"""How far the paths of a configuration may lead: into its project, and no further."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import paths
from harness.errors import SpecError

ALLOWED = "HARNESS_ALLOW_OUTSIDE"
_BETWEEN = re.compile(r"[,(){}\[\]=\"'|]+|:\s")
"""What stands between the values of `name(option=value)`, and of YAML on one line."""


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

    def check_models(self, spec: Any) -> None:
        """Raise `SpecError` where the spec of a component names a folder out of the project."""
        for text in _texts(spec):
            for part in pieces(text):
                try:
                    named = Path(part).is_dir()
                except (OSError, ValueError):  # too long for a path
                    continue
                if named:
                    self.check(part)


def allowed(environment: Mapping[str, str]) -> bool:
    """Return whether the environment lets paths lead anywhere."""
    return environment.get(ALLOWED, "").lower() in ("1", "true", "yes", "on")


def typed(texts: Iterable[str]) -> frozenset[str]:
    """Return all values that stand in what a person typed, a model's file without `gguf:`."""
    found = {part for text in texts for part in pieces(text)}
    return frozenset(found | {part.removeprefix("gguf:") for part in found})


def pieces(text: str) -> Iterator[str]:
    """Yield a text, and each value that stands in it."""
    yield text
    yield from (part.strip() for part in _BETWEEN.split(text) if part.strip())


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
