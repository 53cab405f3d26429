"""Exact nearest-neighbour search over a file of vectors, the reference for approximate indexes."""

from __future__ import annotations

import json
import mmap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from harness.protocols import BuiltIndex, Vectors
from harness.ranking import exact_search
from harness.ranking.exact_search import Neighbour, Numbers, Space

VECTORS = "vectors.npy"
_BUILT = "built.json"


class ExactIndex:
    """The vectors of one folder."""

    def __init__(self, folder: Path, space: Space) -> None:
        self.built = BuiltIndex(**json.loads((folder / _BUILT).read_text(encoding="utf-8")))
        # As a plain array, of which rows are taken several times as fast.
        mapped = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
        self._vectors = mapped.view(np.ndarray)
        self._file = mapped.base
        self._space = space

    def nearest(
        self, vectors: Vectors, k: int, among: Numbers | None = None
    ) -> list[list[Neighbour]]:
        """Return the `k` nearest chunks of each vector, best first, ties by chunk number."""
        return self._exact(vectors, k, among)

    def vectors(self, chunks: Sequence[int]) -> Vectors:
        """Return the vectors of chunks, by number."""
        return np.asarray(self._vectors[list(chunks)])

    def recall(self, vectors: Vectors, k: int) -> list[float]:
        """Return 1 for each vector: nothing is lost."""
        return [1.0 for _ in vectors]

    def _exact(
        self, vectors: Vectors, k: int, among: Numbers | None = None
    ) -> list[list[Neighbour]]:
        return exact_search.search(
            self._vectors, vectors, k, self._space, among=among, read=self._let_go
        )

    def _let_go(self) -> None:
        """Take what was read of the file off this process's memory; the system may keep it."""
        if isinstance(self._file, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self._file.madvise(mmap.MADV_DONTNEED)


class VectorWriter:
    """Writes the file of vectors, batch after batch, and what was found out about them."""

    def __init__(self, folder: Path, rows: int) -> None:
        self._folder = folder
        self._rows = rows
        self._dimensions = self._start = 0
        self._file = (folder / VECTORS).open("wb")

    def add(self, vectors: Vectors, numbers: Sequence[int] | None = None) -> None:
        """Write more rows: the next ones, or those of these numbers."""
        if not self._dimensions:
            self._dimensions = vectors.shape[1]
            shape = (self._rows, self._dimensions)
            np.lib.format.write_array_header_1_0(
                self._file, {"descr": "<f4", "fortran_order": False, "shape": shape}
            )
            self._start = self._file.tell()
        # Written, not mapped: on a full disk a map ends the process without a word.
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        if numbers is None:
            self._file.write(rows.data)
        else:
            for number, row in zip(numbers, rows, strict=True):
                self._file.seek(self._start + number * row.nbytes)
                self._file.write(row.data)
        self._file.flush()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def finish(self, truncated: int) -> None:
        """Note the size of the index, and of how many texts the end was not read."""
        built = BuiltIndex(self._rows, self._dimensions, truncated)
        (self._folder / _BUILT).write_text(json.dumps(asdict(built)), encoding="utf-8")
