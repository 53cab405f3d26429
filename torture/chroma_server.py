"""A Chroma server killed again and again while an index is built on it: all of it is there."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from subprocess import Popen, TimeoutExpired

from tests.support.chroma_filler import DONE, FILL
from tests.support.chroma_server import ChromaServer, chroma_running
from tests.support.processes import begun, kill
from torture.ordeal import Ordeal, sized

_KILLS, _A_BUILD = sized(20), 5
_ROWS = 12_000
_HANG = 600.0
"""Seconds after which a build hangs."""
_SEED = 7


def builds() -> Ordeal:
    """Kill the server in the midst of builds, by one process and by two at once."""
    chance, kills, rounds, broken = random.Random(_SEED), 0, 0, list[str]()
    while kills < _KILLS:
        rounds += 1
        with tempfile.TemporaryDirectory() as name, chroma_running(Path(name) / "data") as server:
            fillers = [
                begun(FILL, server.url, Path(name) / str(number), _ROWS)
                for number in range(1 + rounds % 2)
            ]
            kills += _kill_often(server, fillers, min(_A_BUILD, _KILLS - kills), chance)
            broken += [f"build {rounds}: {said}" for said in _wrong(server, fillers)]
    what = (
        f"a Chroma server killed with SIGKILL and started again in the midst of {rounds} builds "
        "of an index, every other one by two processes at once"
    )
    return Ordeal(what, kills, broken)


def _kill_often(
    server: ChromaServer, fillers: list[Popen[str]], most: int, chance: random.Random
) -> int:
    """Kill and start the server until all builds are done; return how often."""
    kills, ends = 0, time.monotonic() + _HANG
    while kills < most and time.monotonic() < ends:
        time.sleep(chance.uniform(0.5, 4))
        if all(each.poll() is not None for each in fillers):
            break
        server.kill()
        time.sleep(chance.uniform(0, 3))
        server.start()
        kills += 1
    return kills


def _wrong(server: ChromaServer, fillers: list[Popen[str]]) -> list[str]:
    """Return what is wrong with how the builds ended, and with what is on the server."""
    found = []
    for each in fillers:
        try:
            said, _ = each.communicate(timeout=_HANG)
        except TimeoutExpired:
            kill(each)
            said = "it hangs"
        if said != DONE:
            found.append(f"status {each.returncode}, {said!r}")
    with server.client() as client:
        there = [(each.count(), each.metadata) for each in client.list_collections()]
    if there != [(_ROWS, {"complete": _ROWS})]:
        found.append(f"on the server is {there}")
    return found
