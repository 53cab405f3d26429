"""Rows of a shared store: what they cost beside a machine's own, in time, room and memory.

python benchmarks/table.py shared-rows    # a million vectors of 1.5 KB in a folder, five minutes

The figures also go between the marks in docs/cluster.md, where that page has them.
"""

from __future__ import annotations

import statistics
import tempfile
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.commands import ROOT
from benchmarks.figures import Figure, in_turn, ratio, seconds
from harness.cache import Cache
from harness.rows import key_of
from harness.shared import Shared, SharedRows

_ROWS, _MANY, _ASKED, _BATCH = 20_000, 1_000_000, 160, 1_000
_VALUE = bytes(range(256)) * 6 + b"\x00"
"""As long as a vector of 384 numbers with its flag."""
_PLACE = "vectors/0123456789abcdef"
_PAGE = ROOT / "docs" / "cluster.md"
_BEGIN, _END = "<!-- shared-rows: begin -->", "<!-- shared-rows: end -->"


def shared_rows() -> list[Figure]:
    """Return what rows cost with a store behind them, and what a million of them do."""
    found = [*_behind(), *_million()]
    _write(found)
    return found


def _behind() -> list[Figure]:
    put, get = [], []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            shared = Shared(f"{name}/store")
            with Cache(place / "a", shared=shared) as a, Cache(place / "b") as b:
                put += in_turn(lambda a=a: _put(a), lambda b=b: _put(b), 1)
            alone = Cache(place / "b")
            with alone, Cache(place / "c", shared=Shared(f"{name}/store")) as other:
                get += in_turn(lambda c=other: _get(c), lambda b=alone: _get(b), 1)
    sides = "store behind / none"
    return [
        ratio(f"{_ROWS:,} vectors put and published", put, 3, sides),
        ratio(f"{_ROWS:,} vectors fetched and kept", get, 6, sides),
    ]


def _million() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        rows = Shared(f"{name}/store").rows(_PLACE)
        publishing = seconds(lambda: _published(rows))
        sizes = [path.stat().st_size for path in (Path(name) / "store" / _PLACE).iterdir()]
        tracemalloc.start()
        reader = Shared(f"{name}/store").rows(_PLACE)
        opening = seconds(lambda: reader.find([key_of("none")]))
        held, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        asked = [key_of(str(row)) for row in range(0, _MANY, _MANY // _ASKED)]
        finding = statistics.median(seconds(lambda: reader.find(asked)) for _ in range(5))
        reading = seconds(lambda: [reader.find([*each]) for each in _batches()])
    kept = _MANY * len(_VALUE)
    return [
        Figure("a million vectors: bytes in the store / of vectors", sum(sizes) / kept, 1.05),
        Figure("a million vectors: objects", len(sizes), 510),
        Figure("a million keys: MB held", held / 1e6, 45, f"{peak / 1e6:.0f} MB at most"),
        Figure("a million keys: seconds to learn", opening, 5),
        Figure(f"{len(asked)} of a million: seconds", finding, 1),
        Figure("a million published: seconds", publishing, 300, f"{_MANY / publishing:,.0f} /s"),
        Figure("a million found: seconds", reading, 300, f"{_MANY / reading:,.0f} /s"),
    ]


def _batches(most: int = _MANY) -> Iterator[dict[bytes, bytes]]:
    for start in range(0, most, _BATCH):
        yield {key_of(str(row)): _VALUE for row in range(start, start + _BATCH)}


def _published(rows: SharedRows) -> None:
    for batch in _batches():
        rows.add(batch)
    rows.flush()


def _put(cache: Cache) -> float:
    rows, batches = cache.rows("vectors", {}), list(_batches(_ROWS))

    def work() -> None:
        for batch in batches:
            rows.put(batch)
        cache.flush()

    return seconds(work)


def _get(cache: Cache) -> float:
    rows, batches = cache.rows("vectors", {}), list(_batches(_ROWS))

    def work() -> None:
        for batch in batches:
            assert len(rows.get(batch)) == _BATCH

    return seconds(work)


def _write(found: list[Figure]) -> None:
    """Put the figures, and the day, into their place on the page."""
    if not _PAGE.is_file() or _BEGIN not in (text := _PAGE.read_text("utf-8")):
        return
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    day = f"Measured in a folder on one disk, {datetime.now(UTC):%Y-%m-%d}:"
    rows = [f"| {each.what} | {each.value:,.2f} | {each.measured} |" for each in found]
    lines = [_BEGIN, day, "", "| what | figure | |", "|---|---:|---|", *rows, _END]
    _PAGE.write_text(before + "\n".join(lines) + after, "utf-8")
