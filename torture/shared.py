"""The store that machines share: publishers killed at random instants, and objects harmed."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

from harness.cache.folders import Cache
from harness.cache.shared import Store
from tests.support import damage
from tests.support.processes import begun, kill
from torture.ordeal import Ordeal, sized

_KILLS, _HARMS = sized(150), sized(400)
_ARTEFACTS = 30
_SEED = 10
_PUBLISH = """
import itertools, sys
from pathlib import Path
from harness.cache.folders import Cache
from harness.cache.shared import Store
store, own, first = sys.argv[1:]
with Cache(Path(own), store=Store(store)) as cache:
    for number in itertools.count(int(first)):
        def make(folder):
            for each in range(20):
                (folder / str(each)).write_text(str(number % 30) * 5000)
        cache.folder("chunks", {"of": number % 30}, make)
        print(number)
"""


def kills() -> Ordeal:
    """Kill two that publish into one store; all that is there is whole."""
    draw, broken = random.Random(_SEED), []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for case in range(_KILLS):
            own = folder / f"own {case % 2}"
            first = 10_000 * (case % 5) + case
            process = begun(_PUBLISH, folder / "store", own, first)
            process.stdout.readline()
            time.sleep(draw.random() * 0.2)
            process.kill()
            kill(process)
            broken += [f"kill {case}: {each}" for each in _wrong(folder / "store")]
    return Ordeal("a publisher of shared artefacts killed at a random instant", _KILLS, broken)


def harms() -> Ordeal:
    """Harm one object of a store; another machine then finds the right thing, or nothing."""
    draw, broken = random.Random(_SEED), []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)

        def make(into: Path) -> None:
            (into / "file").write_text("whole" * 500)

        def used(own: str) -> bool:
            with Cache(folder / own, store=Store(str(folder / "store"))) as cache:
                made = cache.folder("chunks", {}, make) / "file"
                return made.read_text() == "whole" * 500 and not cache.warnings

        used("first")
        whole = damage.files(folder / "store")
        for case in range(_HARMS):
            damage.restored(folder / "store", whole)
            name = draw.choice(sorted(whole))
            how, harmed = damage.harmed(whole[name], draw)
            (folder / "store" / name).write_bytes(harmed or b"")
            if not used(f"own {case}") or not used(f"other {case}"):
                broken.append(f"seed {_SEED}, case {case}: {name} {how}")
    return Ordeal("an object of a shared store harmed, then used by two machines", _HARMS, broken)


def _wrong(store: Path) -> list[str]:
    """Return what can be seen in a store and is not whole."""
    shared, wrong = Store(str(store)), []
    for path in (store / "chunks").glob("*.zip"):
        with tempfile.TemporaryDirectory() as into:
            if not shared.get(f"chunks/{path.stem}", Path(into), lambda: True):
                wrong.append(f"{path.name} is not whole")
            elif len(set(damage.files(Path(into)).values()) - {b""}) < 3:
                wrong.append(f"{path.name} holds something else")
    return wrong
