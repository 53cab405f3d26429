"""Extras: which of the package's optional parts are installed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.config import RunConfig
from harness.doctor import Fact, checks
from harness.doctor.requirements import NAME, asked, held

_APART = ("dev",)
"""What people install who work on the harness itself."""


@checks.register
@dataclass(frozen=True)
class Extras:
    """Names the extras that are whole, and those that are not; none of them is a problem."""

    name: ClassVar[str] = "extras"
    order: ClassVar[int] = 20

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield libraries of an extra in a wrong version, then what is there and what is not."""
        wanted = asked()
        whole: list[str] = []
        lacking: list[str] = []
        for extra, requirements in () if wanted is None else wanted.extras.items():
            if extra in _APART:
                continue
            found = held(requirements)
            (lacking if any(each.missing for each in found) else whole).append(extra)
            for each in found:
                if each.problem is not None and not each.missing:
                    pip = f"pip install '{NAME}[{extra}]'"
                    yield Fact("warning", f"extra [{extra}]: {each.problem}", pip)
        if whole or lacking:
            absent = f"; not installed: {', '.join(lacking)}" if lacking else ""
            yield Fact("ok", f"{', '.join(whole) or 'none'}{absent}")
