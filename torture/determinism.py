"""The same run again and again in other surroundings, with MiniLM, BERTScore and Chroma's index."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.support.kills import project
from tests.support.repeated import SURROUNDINGS, differences, reordered, run, scored_otherwise
from torture.ordeal import Ordeal


def determinism() -> Ordeal:
    """Run one grid in every surrounding, then with its lists turned round."""
    broken: list[str] = []
    cases = 0
    for model in (False, True):
        with tempfile.TemporaryDirectory() as place:
            folders = [Path(place) / str(at) for at in range(len(SURROUNDINGS))]
            for folder in folders:
                project(folder, model)
            made = [run(*each) for each in zip(folders, SURROUNDINGS, strict=True)]
            reversed_ = Path(place) / "reversed"
            shutil.copytree(folders[0], reversed_, ignore=shutil.ignore_patterns(".*", "reports"))
            reordered(reversed_ / "config.yaml")
            turned = run(reversed_, SURROUNDINGS[1])
            name = "MiniLM" if model else "hashing"
            for about, other in zip(SURROUNDINGS[1:], made[1:], strict=True):
                found = differences(made[0], other)
                broken += [f"{name} with {about}: {each}" for each in found]
            found = scored_otherwise(made[0], turned)
            broken += [f"{name}, cells in another order: {each}" for each in found]
            cases += len(made)
    what = "runs repeated with other threads, hash seeds, languages, time zones, orders of cells"
    return Ordeal(what, cases, broken)
