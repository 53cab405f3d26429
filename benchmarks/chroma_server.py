"""An index on a Chroma server beside the one in this process, and beside the bare client.

python benchmarks/table.py chroma-server     # 200,000 vectors of 384 numbers
python -m benchmarks.chroma_server           # the same, and the table in docs/scale.md
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from benchmarks import commands
from benchmarks.figures import Figure, ratio, seconds

VECTORS, QUESTIONS, DIMENSIONS = 200_000, 1_000, 384
ROUNDS = 3
SIDES = ("embedded", "server", "bare")
_K, _ADDED = 10, 5_000
_PAGE = commands.ROOT / "docs" / "scale.md"
_BEGIN, _END = "<!-- server: begin -->", "<!-- server: end -->"
_NAMES = {
    "embedded": "the harness, Chroma in its process",
    "server": "the harness, `chroma run` on the same machine",
    "bare": "Chroma's client alone, batches of 5,000, the same server",
}

Rounds = dict[str, list[dict[str, float]]]
"""What each side says of each of its rounds."""


def served(vectors: int = VECTORS, rounds: int = ROUNDS) -> list[Figure]:
    """Return what the server costs, and what the harness adds to its client."""
    return _figures(measured(vectors, rounds), vectors)


def measured(vectors: int, rounds: int) -> Rounds:
    """Go through the sides in turn, each in a process and on a folder of its own."""
    found: Rounds = {side: [] for side in SIDES}
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "vectors.npy"
        commands.python("-m", "benchmarks.chroma_server", "make", file, str(vectors))
        for _ in range(rounds):
            for side in SIDES:
                done = commands.python("-m", "benchmarks.chroma_server", side, file)
                found[side].append(json.loads(done.printed))
                print(side, found[side][-1], file=sys.stderr, flush=True)
    return found


def _figures(found: Rounds, vectors: int) -> list[Figure]:
    def pairs(one: str, other: str, what: str) -> list[tuple[float, float]]:
        both = zip(found[one], found[other], strict=True)
        return [(mine[what], theirs[what]) for mine, theirs in both]

    size = f"{vectors:,} vectors"
    peak = max(each["megabytes"] for each in found["server"])
    return [
        ratio(f"{size}: building", pairs("server", "bare", "build"), 1.15, "on a server / client"),
        ratio(f"{size}: building", pairs("server", "embedded", "build"), 1.3, "server / embedded"),
        ratio(f"{size}: asking", pairs("server", "embedded", "ask"), 2, "server / embedded"),
        Figure(f"{size}: peak MB of our process beside a server", peak, 1_000),
    ]


def _write(found: Rounds, vectors: int) -> None:
    """Put the table into its place on the page."""
    import chromadb

    lines = [
        _BEGIN,
        f"`python -m benchmarks.chroma_server {vectors}`: {vectors:,} vectors of {DIMENSIONS} "
        f"numbers, {QUESTIONS:,} questions, k = {_K}, medians of {len(found['bare'])} in "
        f"turn, Chroma {chromadb.__version__}, two cores that server and client share:",
        "",
        "| | build, s | vectors/s | ask, s | peak MB of our process | requests, build / ask |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for side in SIDES:
        every = {key: median(each[key] for each in found[side]) for key in found[side][0]}
        sent = f"{every['added']:.0f} / {every['asked']:.0f}" if every["added"] else "—"
        lines.append(
            f"| {_NAMES[side]} | {every['build']:.1f} | {vectors / every['build']:,.0f} "
            f"| {every['ask']:.2f} | {every['megabytes']:.0f} | {sent} |"
        )
    before, _, rest = _PAGE.read_text("utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    _PAGE.write_text(before + "\n".join([*lines, _END]) + after, "utf-8")


@dataclass
class _Read:
    """An embedder that reads each vector from a file, by the number that the text is."""

    path: str

    name: ClassVar[str] = "read"
    version: ClassVar[int] = 1
    kept: ClassVar[bool] = False

    def embed(self, texts: Sequence[str], kind: str) -> Any:
        import numpy as np

        # Read, not mapped: pages of a mapped file count as memory of the process.
        head = np.load(self.path, mmap_mode="r").offset
        found = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        with open(self.path, "rb") as file:
            for row, text in zip(found, texts, strict=True):
                file.seek(head + int(text) * row.nbytes)
                row[:] = np.frombuffer(file.read(row.nbytes), dtype=np.float32)
        return found

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [False] * len(texts)

    def identity(self) -> dict[str, Any]:
        return {"name": self.name}


def _make(file: str, vectors: int) -> None:
    """Write unit vectors round 2,000 centres, and the questions after them."""
    import numpy as np

    chance = np.random.default_rng(7)
    centres = chance.normal(size=(2_000, DIMENSIONS)).astype(np.float32)
    total = vectors + QUESTIONS
    found = np.lib.format.open_memmap(file, "w+", np.float32, (total, DIMENSIONS))
    for start in range(0, total, _ADDED):
        some = found[start : start + _ADDED]
        near = centres[chance.integers(len(centres), size=len(some))]
        some[:] = near + 0.5 * chance.normal(size=some.shape)
        some /= np.linalg.norm(some, axis=1, keepdims=True)


def _side(side: str, file: str) -> dict[str, float]:
    """Build and ask one side; return seconds, requests and the peak of this process."""
    import httpx
    import numpy as np

    from tests.support.chroma_server import chroma_running

    sent = [0]
    send = httpx.Client.send

    def counted(*arguments: Any, **others: Any) -> Any:
        sent[0] += 1
        return send(*arguments, **others)

    held = np.load(file, mmap_mode="r")
    rows, questions = len(held) - QUESTIONS, np.array(held[-QUESTIONS:])
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = None
        if side != "embedded":
            url = stack.enter_context(chroma_running(folder / "data")).url
        httpx.Client.send = counted  # type: ignore[method-assign]
        work = _bare if side == "bare" else _ours
        index: list[Any] = []
        build = seconds(lambda: index.append(work(stack, folder, file, rows, url)))
        added = sent[0]
        ask = seconds(lambda: index[0](questions))
        asked = sent[0] - added
    return {"build": build, "ask": ask, "added": added, "asked": asked, "megabytes": _peak()}


def _numbered(rows: int) -> Any:
    """Return so many chunks, each made when it is asked for: its text is its number."""
    from harness.records import Chunk, Span
    from tests.support.listed import Listed

    class Numbered(Listed):
        def __len__(self) -> int:
            return rows

        def __getitem__(self, at: Any) -> Any:
            if isinstance(at, slice):
                return [self[each] for each in range(*at.indices(rows))]
            if not 0 <= at < rows:
                raise IndexError(at)
            return Chunk(at, Span("doc", at, at + 1), str(at))

        def __iter__(self) -> Any:
            return map(self.__getitem__, range(rows))

    return Numbered()


def _ours(stack: ExitStack, folder: Path, file: str, rows: int, url: str | None) -> Any:
    from harness.cache.folders import Cache
    from harness.index import IndexSettings, open_or_build
    from harness.index.index_settings import ChromaServer

    settings = IndexSettings(server=None if url is None else ChromaServer(url))
    cache = stack.enter_context(Cache(folder / "cache"))
    index = open_or_build(cache, _numbered(rows), _Read(file), settings)
    return lambda questions: index.nearest(questions, _K)


def _bare(stack: ExitStack, folder: Path, file: str, rows: int, url: str) -> Any:
    import chromadb
    import numpy as np

    client = chromadb.HttpClient(url)
    hnsw = {"space": "cosine", "max_neighbors": 16, "ef_construction": 100, "ef_search": 100}
    made = client.create_collection(
        "bare", configuration={"hnsw": {**hnsw, "sync_threshold": _ADDED}}, embedding_function=None
    )
    held = np.load(file, mmap_mode="r")
    for start in range(0, rows, _ADDED):
        some = np.array(held[start : min(start + _ADDED, rows)])
        made.add(ids=[str(start + at) for at in range(len(some))], embeddings=some)
    return lambda questions: [
        made.query(query_embeddings=questions[at : at + 500], n_results=_K, include=["distances"])
        for at in range(0, len(questions), 500)
    ]


def _peak() -> float:
    """Return the peak memory of this process, in MB, with nothing of its parent's."""
    said = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in said.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def main(arguments: Sequence[str]) -> int:
    """Measure and write the page, or do what the parent process asks for."""
    if arguments[:1] == ["make"]:
        _make(arguments[1], int(arguments[2]))
    elif arguments[:1] and arguments[0] in SIDES:
        print(json.dumps(_side(arguments[0], arguments[1])))
    else:
        vectors = int(arguments[0]) if arguments else VECTORS
        rounds = int(arguments[1]) if arguments[1:] else ROUNDS
        found = measured(vectors, rounds)
        _write(found, vectors)
        for figure in _figures(found, vectors):
            print(figure.line())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
