"""Systems under test that are not built from the harness's parts. Add one by adding a file here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from harness import fingerprint
from harness.registry import Registry, Spec, parameters
from harness.systems.reply import SystemReply


class System(ABC):
    """What every file in this package provides: `ask`, and what differs from these defaults.

    In a configuration a text in the place of a mapping, `{python: TEXT}`, is the first parameter;
    others may stand beside it.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    files: ClassVar[tuple[str, ...]] = ()
    """Its parameters that name a file, looked for beside the configuration."""
    imported: ClassVar[bool] = False
    """Whether it only reads what was recorded before: what is missing there stops no run."""

    @property
    def shown(self) -> str:
        """What reports call it."""
        return getattr(self, "label", None) or self.name

    @property
    def concurrent(self) -> int:
        """How many questions it may be asked at once, each in a thread of its own; from 1."""
        return 1

    @property
    def tells_answers(self) -> bool:
        """Whether it may give answers, and not contexts alone."""
        return True

    @property
    def tells_contexts(self) -> bool:
        """Whether it may tell its contexts, and not answers alone."""
        return True

    @property
    def cache(self) -> bool:
        """Whether its replies are kept, to continue a run that was broken off."""
        return True

    def check(self) -> None:
        """Raise what would stop every question: a module, a file or a key that is missing."""
        return  # Nothing, for some.

    @abstractmethod
    def ask(self, id_: str, question: str) -> SystemReply:
        """Return what it tells of one question; `id_` is the question's in the test set.

        Raises:
            StageError: it gave up on this question, or returned something that makes no sense.
        """

    def identity(self) -> dict[str, Any]:
        """Return all that shapes a reply, as far as it can be seen from here."""
        return fingerprint.identity(self)


systems: Registry[System] = Registry("system", __name__, System)


def expand_spec(spec: Spec) -> Spec:
    """Return `{name: TEXT, ...}` as `{name: {first parameter: TEXT, ...}}`, others as they are.

    Raises:
        SpecError: there is no such system.
    """
    if not isinstance(spec, Mapping) or not spec:
        return spec
    name = next((system for system in spec if system in list(systems)), next(iter(spec)))
    value = spec[name]
    if not isinstance(value, str):
        return spec
    first = next(iter(parameters(systems[str(name)])), "parameter")
    return {name: {first: value, **{key: spec[key] for key in spec if key != name}}}
