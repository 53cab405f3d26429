"""Clock: whether the date can be right, as samples by day and servers' certificates need it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from harness import fingerprint
from harness.config.run_config import RunConfig
from harness.preflight.machine import Fact, checks

_DAY_SECONDS = 86_400


@checks.register
@dataclass(frozen=True)
class Clock:
    """Compares the clock with the date of the installed files, which were made before now."""

    name: ClassVar[str] = "clock"
    order: ClassVar[int] = 80

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield the time in UTC."""
        yield check_clock(time.time(), Path(str(fingerprint.__file__)).stat().st_mtime)


def check_clock(now: float, installed: float) -> Fact:
    """Return whether a clock can be right; both are in seconds since 1970."""
    text = f"the clock says {datetime.fromtimestamp(now, UTC):%Y-%m-%d %H:%M} UTC"
    if now < installed - _DAY_SECONDS:
        message = f"{text}; the harness's files are of {datetime.fromtimestamp(installed, UTC):%F}"
        return Fact("problem", message, "set the clock: samples of the day and history go by it")
    return Fact("ok", text)
