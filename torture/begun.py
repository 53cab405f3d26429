"""An index killed while it is built: what goes on with it must come to the same, and lose nothing.

python -m torture.begun FOLDER    # build one, as the ordeal does
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness import index as indexes
from harness.cache import Cache
from harness.embedders.hashing import Hashing
from harness.index import KIND, IndexSettings, VectorIndex, begun, open_or_build
from tests.listed import listed
from torture.ordeal import Ordeal, sized

_KILLS = sized(60)
_CHUNKS = 24_000
_SEED = 7
_ASKED = 2_000
_LESS = 0.005
"""How much less of the true nearest an index may find that was gone on with."""


def build(folder: Path) -> VectorIndex:
    """Build an index of made words, or go on with it."""
    chance = random.Random(_SEED)
    words = [f"w{number}" for number in range(3_000)]
    texts = listed(" ".join(chance.choices(words, k=12)) for _ in range(_CHUNKS))
    indexes.STRETCH = 5_000  # so that there are copies to go back to
    with Cache(folder) as cache:
        return open_or_build(cache, texts, Hashing(64), IndexSettings())


def index() -> Ordeal:
    """Kill a process that builds an index until it was killed often enough, and look at each."""
    chance, broken, kills, ends = random.Random(_SEED), list[str](), 0, 0
    with tempfile.TemporaryDirectory() as name:
        calm, harried = Path(name) / "calm", Path(name) / "harried"
        clock = time.perf_counter()
        _started(calm).wait()
        whole = time.perf_counter() - clock
        wanted = _shares(build(calm))
        while kills < _KILLS or not ends:
            process = _started(harried)
            try:
                process.wait(chance.uniform(0.0, whole))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills += 1
                if kills < _KILLS:
                    continue
                process = _started(harried)
                process.wait()
            ends += 1
            broken += [f"after kill {kills}: {each}" for each in _wrong(process, harried, wanted)]
            shutil.rmtree(harried)
    return Ordeal(f"an index of {_CHUNKS:,} vectors killed while it is built", kills, broken)


def _started(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "torture.begun", str(folder)])


def _shares(made: VectorIndex) -> float:
    """Return the share of the true nearest that an index finds for its own vectors."""
    asked = made.vectors(range(0, _CHUNKS, _CHUNKS // _ASKED))
    return float(np.mean(made.recall(asked, 10)))


def _wrong(process: subprocess.Popen[bytes], folder: Path, wanted: float) -> Iterator[str]:
    if process.returncode:
        yield f"exit status {process.returncode}"
    if list((folder / begun.KIND).iterdir()):
        yield "what was begun is still there"
    (made,) = (folder / KIND).iterdir()
    with sqlite3.connect(made / "chroma" / "chroma.sqlite3") as file:
        numbers = {number for (number,) in file.execute("select seq_id from max_seq_id")}
    file.close()
    if numbers != {_CHUNKS}:
        yield f"Chroma has indexed up to {numbers}, and there are {_CHUNKS}"
    opened = build(folder)
    if opened.built.chunks != _CHUNKS:
        yield f"{opened.built.chunks} chunks"
    found = _shares(opened)
    if found < wanted - _LESS:
        yield f"it finds {found:.4f} of the nearest, and one built at once {wanted:.4f}"


if __name__ == "__main__":
    build(Path(sys.argv[1]))
