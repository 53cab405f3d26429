"""Extras: which of the package's optional parts are installed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.config.run_config import RunConfig
from harness.files.requirements import check_requirements, install_command, read_requirements
from harness.preflight.machine import Fact, checks

_DEVELOPMENT_EXTRAS = ("dev",)
"""What people install who work on the harness itself."""


@checks.register
@dataclass(frozen=True)
class Extras:
    """Names the extras that are whole, and those that are not; none of them is a problem."""

    name: ClassVar[str] = "extras"
    order: ClassVar[int] = 20

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield libraries of an extra in a wrong version, then what is there and what is not."""
        required = read_requirements()
        installed: list[str] = []
        lacking: list[str] = []
        for extra, requirements in () if required is None else required.extras.items():
            if extra in _DEVELOPMENT_EXTRAS:
                continue
            libraries = check_requirements(requirements)
            (lacking if any(library.missing for library in libraries) else installed).append(extra)
            for library in libraries:
                if library.problem is not None and not library.missing:
                    pip = install_command(extra)
                    yield Fact("warning", f"extra [{extra}]: {library.problem}", pip)
        if installed or lacking:
            absent = f"; not installed: {', '.join(lacking)}" if lacking else ""
            yield Fact("ok", f"{', '.join(installed) or 'none'}{absent}")
