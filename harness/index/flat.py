"""Vectors in a file, all of them compared: what an approximate index is measured against."""

from __future__ import annotations

import io
import json
import mmap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO

import numpy as np

from harness import exact
from harness.embedders import Vectors
from harness.exact import Near, Numbers, Space

VECTORS = "vectors.npy"
_BUILT = "built.json"


@dataclass(frozen=True)
class Built:
    """What building an index found out; kept beside it for the runs that reuse it."""

    chunks: int
    dimensions: int
    truncated: int


class Flat:
    """The vectors of one folder."""

    def __init__(self, folder: Path, space: Space) -> None:
        self.built = Built(**json.loads((folder / _BUILT).read_text(encoding="utf-8")))
        # As a plain array, of which rows are taken several times as fast.
        mapped = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
        self._vectors = mapped.view(np.ndarray)
        self._file = mapped.base
        self._space = space

    def nearest(self, vectors: Vectors, k: int, among: Numbers | None = None) -> list[list[Near]]:
        """Return the `k` nearest chunks of each vector, best first, ties by chunk number."""
        return self._exact(vectors, k, among)

    def vectors(self, chunks: Sequence[int]) -> Vectors:
        """Return the vectors of chunks, by number."""
        return np.asarray(self._vectors[list(chunks)])

    def recall(self, vectors: Vectors, k: int) -> list[float]:
        """Return 1 for each vector: nothing is lost."""
        return [1.0 for _ in vectors]

    def _exact(self, vectors: Vectors, k: int, among: Numbers | None = None) -> list[list[Near]]:
        return exact.search(self._vectors, vectors, k, self._space, among=among, read=self._let_go)

    def _let_go(self) -> None:
        """Take what was read of the file off this process's memory; the system may keep it."""
        if isinstance(self._file, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self._file.madvise(mmap.MADV_DONTNEED)


class Writing:
    """The file of vectors while it is being written; with `there`, one to be gone on with."""

    def __init__(self, folder: Path, rows: int, there: bool = False) -> None:
        self._folder = folder
        self._rows = rows
        self._file: BinaryIO = (folder / VECTORS).open("r+b" if there else "w+b")
        self.dimensions = 0
        self._start = 0

    def resume(self, dimensions: int) -> None:
        """Go on with what is there: vectors of so many numbers.

        Raises:
            ValueError: the file does not begin as theirs does.
        """
        head = self._head(dimensions)
        if self._file.read(len(head)) != head:
            raise ValueError("the file of vectors is damaged")
        self.dimensions, self._start = dimensions, len(head)

    def add(self, vectors: Vectors) -> None:
        """Write more rows."""
        if not self.dimensions:
            self.dimensions = vectors.shape[1]
            self._start = self._file.write(self._head(self.dimensions))
        self._file.seek(0, SEEK_END)  # it may have been read
        # Written, not mapped: on a full disk a map ends the process without a word.
        self._file.write(np.ascontiguousarray(vectors, dtype="<f4").data)
        self._file.flush()

    def read(self, start: int, rows: int) -> Vectors:
        """Return so many rows from `start` on, fewer where there are fewer."""
        width = 4 * self.dimensions
        self._file.seek(self._start + start * width)
        raw = self._file.read(rows * width)
        whole = np.frombuffer(raw[: len(raw) - len(raw) % width], dtype="<f4")
        return whole.reshape(-1, self.dimensions).astype(np.float32, copy=False)

    def cut(self, rows: int) -> None:
        """Leave the first so many rows."""
        self._file.truncate(self._start + rows * 4 * self.dimensions)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def finish(self, truncated: int) -> None:
        """Note what was found out."""
        built = Built(self._rows, self.dimensions, truncated)
        (self._folder / _BUILT).write_text(json.dumps(asdict(built)), encoding="utf-8")

    def _head(self, dimensions: int) -> bytes:
        """Return what the file begins with."""
        shape = (self._rows, dimensions)
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            head, {"descr": "<f4", "fortran_order": False, "shape": shape}
        )
        return head.getvalue()
