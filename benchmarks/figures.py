"""What a benchmark finds: one figure beside its bound, and how two sides are measured in turn."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

RUNS = 5
HEAD = f"{'what':<62}{'n':>3}  {'measured':<26}{'figure':>9}{'bound':>9}"


@dataclass(frozen=True)
class Figure:
    """One line of the table: a number that must not be over its bound.

    `measured` says what the number came of; `runs` how many times it was measured.
    """

    what: str
    value: float
    bound: float
    measured: str = ""
    runs: int = 1

    @property
    def over(self) -> bool:
        """Whether the bound is broken; a number that is none breaks it too."""
        return not self.value <= self.bound

    def line(self) -> str:
        """Return the line of the table."""
        verdict = "  OVER" if self.over else "  pass"
        numbers = f"{self.value:>9.2f}{self.bound:>9g}"
        return f"{self.what:<62}{self.runs:>3}  {self.measured:<26}{numbers}{verdict}"


Pairs = Sequence[tuple[float, float]]


def ratio(what: str, pairs: Pairs, bound: float, sides: str = "harness / direct") -> Figure:
    """Return the median ratio of pairs of seconds, each pair measured in one round."""
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    median = statistics.median(mine / other for mine, other in pairs)
    name = f"{what}: {sides}"
    return Figure(name, median, bound, f"{ours:.2f} s / {theirs:.2f} s", len(pairs))


def in_turn(
    ours: Callable[[], float], theirs: Callable[[], float], runs: int = RUNS
) -> list[tuple[float, float]]:
    """Return the seconds that each side says it took, over rounds of one run of each."""
    return [(ours(), theirs()) for _ in range(runs)]


def seconds(work: Callable[[], Any]) -> float:
    """Return the wall time of `work`."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def settle() -> None:
    """Take what has been made so far out of the garbage collector's rounds.

    Python looks through all its objects now and then, on whose time is chance. Those of the
    imported libraries are a million; it still looks through what each side makes itself.
    """
    gc.collect()
    gc.freeze()
