"""What an ordeal came to: how often something was made to go wrong, and what that broke."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

HEAD = ("| ordeal | cases | seconds | broken |", "|---|---:|---:|---|")
SHARE = float(os.environ.get("HARNESS_TORTURE_SHARE", 1))
"""How much of an ordeal is gone through: 0.1 is a tenth of its cases."""
_SHOWN = 3


def sized(cases: int) -> int:
    """Return how many of so many cases are gone through, at least one."""
    return max(1, round(SHARE * cases))


@dataclass(frozen=True)
class Ordeal:
    """One line of the table.

    `cases` is how often something was made to go wrong, each `broken` a promise that did not
    hold, in words that let somebody find it again: the seed and the case.
    """

    what: str
    cases: int
    broken: Sequence[str] = ()
    seconds: float = 0.0

    def line(self) -> str:
        """Return the line of the table."""
        shown = "; ".join(" ".join(each.split()) for each in self.broken[:_SHOWN])
        more = f" and {len(self.broken) - _SHOWN} more" if len(self.broken) > _SHOWN else ""
        said = f"{len(self.broken)}: {shown}{more}" if self.broken else "nothing"
        return f"| {self.what} | {self.cases:,} | {self.seconds:,.0f} | {said} |"


def timed(name: str, work: Callable[[], Ordeal]) -> Ordeal:
    """Return what `work` came to, with the seconds that it took; an error of its own is broken."""
    start = time.perf_counter()
    try:
        found = work()
    except Exception as error:  # noqa: BLE001  the ordeals after it go on
        found = Ordeal(name, 1, [f"the ordeal itself: {type(error).__name__}: {error}"])
    return Ordeal(found.what, found.cases, found.broken, time.perf_counter() - start)
