"""Runs at once on one cache and one reports folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.support import together as crowds
from torture.ordeal import Ordeal

_RUNS, _KILLS = 10, 4
_SEEDS = (7, 8, 9)


def together() -> Ordeal:
    """Start ten runs at once, three times; kill some, make room, read and render meanwhile."""
    found = []
    for seed in _SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            made = crowds.together(Path(folder), _RUNS, _KILLS, beside=True, seed=seed)
        found.append((seed, made))
    what = (
        f"ten runs of two configurations at once on one cache and one reports folder, with "
        f"{sum(made.kills for _, made in found)} kills and "
        f"{sum(made.beside for _, made in found)} times `cache gc`, `history` or `report` meanwhile"
    )
    broken = [f"seed {seed}: {said}" for seed, made in found for said in made.broken]
    return Ordeal(what, sum(made.runs for _, made in found), broken)
