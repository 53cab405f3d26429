"""Runs and other verbs killed at random instants: what is left must come to the same result."""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

from tests.support import kills
from tests.support.killed_verbs import VERBS, kill_verb
from torture.ordeal import Ordeal, sized

_RUNS, _SIGNALS, _VERBS = sized(200), sized(100), sized(100)
_SEED = 7


def runs() -> Ordeal:
    """Kill a run, which the same command continues, until it has been killed often enough."""
    with tempfile.TemporaryDirectory() as folder:
        found = kills.kill_often(Path(folder), _RUNS, seed=_SEED)
    what = "a run killed with SIGKILL at a random instant, and continued"
    return Ordeal(what, found.kills, found.differences)


def signals() -> Ordeal:
    """End a run with SIGINT or SIGTERM, every other time with a second one."""
    with tempfile.TemporaryDirectory() as folder:
        how = (signal.SIGINT, signal.SIGTERM)
        found = kills.kill_often(Path(folder), _SIGNALS, seed=_SEED, how=how)
    what = "a run ended by Ctrl-C or SIGTERM, half of them twice, and continued"
    return Ordeal(what, found.kills, found.differences)


def verbs() -> Ordeal:
    """Kill what rewrites a stored run, a baseline or a cache."""
    broken = []
    for verb in VERBS:
        with tempfile.TemporaryDirectory() as folder:
            broken += kill_verb(verb, Path(folder), _VERBS, _SEED)
    what = f"SIGKILL in the midst of {', '.join(VERBS)}"
    return Ordeal(what, _VERBS * len(VERBS), broken)
