"""Checks of this machine before a run. Add a check by adding a file here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from harness.config.run_config import RunConfig
from harness.registry import Registry

Status = Literal["ok", "warning", "problem"]
"""A problem stops a run, or makes it worthless; a warning may."""


@dataclass(frozen=True)
class Fact:
    """One thing a check saw, in plain words, and what would put it right."""

    status: Status
    text: str
    remedy: str = ""


class MachineCheck(Protocol):
    """What every file in this package provides; `order` is its place among the others."""

    name: ClassVar[str]
    order: ClassVar[int]

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield what it sees; without a configuration, what holds for any run."""
        ...


checks: Registry[MachineCheck] = Registry("check of the machine", __name__, MachineCheck)


def run_checks(config: RunConfig | None) -> Iterator[tuple[str, Fact]]:
    """Yield every check's facts, each with the name of its check.

    Nothing is spent: no model is loaded or asked, nothing is fetched, and no file is left behind.
    Connections are made to the servers that the configuration names, and to no others.
    """
    for check in sorted((checks[name]() for name in checks), key=lambda check: check.order):
        for fact in check.facts(config):
            yield check.name, fact
