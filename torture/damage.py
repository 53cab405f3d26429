"""Every artefact harmed again and again: said, made again, or without any effect on a number."""

from __future__ import annotations

from tests.support import disks
from tests.support.harmed_cache import harm_cache
from tests.support.harmed_runs import BESIDE, DATA, Harmed
from torture.ordeal import Ordeal, sized

_TIMES, _SEED = sized(500), 9


def run() -> Ordeal:
    """Harm each file of a finished run, and a baseline's, and read it by a verb drawn by lot."""
    names = (*DATA, *BESIDE)
    with disks.quick() as folder:
        harmed = Harmed(folder / "project")
        broken = [each for name in names for each in harmed.harm(name, _TIMES, _SEED)]
    what = f"a byte, line or file of a stored run or a baseline damaged ({len(names)} kinds)"
    return Ordeal(what, _TIMES * len(names), broken)


def cache() -> Ordeal:
    """Harm a file of each kind of artefact that a cache has, and run again."""
    with disks.quick() as folder:
        cases, broken = harm_cache(folder / "project", _TIMES, _SEED)
    return Ordeal("a byte, line or file of a cache damaged, and the same run again", cases, broken)
