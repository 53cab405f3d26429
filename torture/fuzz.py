"""Text of strangers by the hundred thousand: what reads it understands it, or refuses it."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, seed, settings

from tests.fuzzing.promise import broken
from tests.fuzzing.targets import Target, targets
from torture.ordeal import Ordeal

CASES = int(os.environ.get("HARNESS_FUZZ_CASES", 100_000))
_SEED = 9
_SLOW, _MEMORY = 10.0, 1 << 20
"""Seconds of one case, and KiB that all cases of one target may add to the process."""


def text() -> Ordeal:
    """Give every target as many cases as the others."""
    with tempfile.TemporaryDirectory() as folder:
        found = targets(Path(folder))
        each = -(-CASES // len(found))
        outcomes = [_fuzzed(name, target, each) for name, target in found.items()]
    cases = sum(many for many, _ in outcomes)
    said = [problem for _, problems in outcomes for problem in problems]
    return Ordeal("text of strangers, fuzzed by form", cases, said)


def _fuzzed(name: str, target: Target, cases: int) -> tuple[int, list[str]]:
    """Return how many cases there were, and what they broke, with the smallest case that does."""
    ran, longest = 0, 0.0
    smallest: list[tuple[Any, str]] = []

    @seed(_SEED)
    @settings(
        max_examples=cases, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=target.given)
    def holds(case: Any) -> None:
        nonlocal ran, longest
        ran += 1
        started = time.perf_counter()
        problem = broken(lambda: target.read(case))
        longest = max(longest, time.perf_counter() - started)
        if problem is not None:
            smallest[:] = [(case, problem)]
            raise AssertionError(problem)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = []
    try:
        holds()
    except AssertionError:
        case, problem = smallest[0]
        said.append(f"{name}, seed {_SEED}: {problem} of {case!a:.300}")
    if longest > _SLOW:
        said.append(f"{name}, seed {_SEED}: a case took {longest:.0f} s")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > _MEMORY:
        said.append(f"{name}, seed {_SEED}: {grown >> 10} MiB more memory")
    return ran, said
