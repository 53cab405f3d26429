"""What an ordeal came to: how often something was made to go wrong, and what that broke."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

HEAD = ("| ordeal | cases | seconds | broken |", "|---|---:|---:|---|")
_SHOWN = 3


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


def timed(work: Callable[[], Ordeal]) -> Ordeal:
    """Return what `work` came to, with the seconds that it took."""
    start = time.perf_counter()
    found = work()
    return Ordeal(found.what, found.cases, found.broken, time.perf_counter() - start)
