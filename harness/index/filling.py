"""The vectors and the collection of one folder while they are filled, batch after batch."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from harness.embedders import Vectors
from harness.errors import RunError
from harness.index import begun
from harness.index.chroma import Adding, whole
from harness.index.flat import Writing
from harness.index.settings import IndexSettings


class Filling:
    """An index that is being filled; `rows` says how far, `last` is the size of the last batch.

    With `going_on` each batch is noted, and what an earlier process noted there is gone on with.
    Ids are the numbers of the vectors, and Chroma takes a batch whole or not at all.
    """

    def __init__(
        self,
        folder: Path,
        settings: IndexSettings,
        total: int,
        last: int,
        approximate: bool,
        going_on: bool,
    ) -> None:
        self.rows = 0
        self._folder = folder
        self._settings = settings
        self._total = total
        self._last = last
        self._approximate = approximate
        self._noted = going_on
        self._truncated = 0
        self._open = ExitStack()
        self._file: Writing
        self._adding: Adding | None = None

    def go_on(self, size: int) -> None:
        """Open the files, with what is there of them, which was added `size` vectors at a time."""
        there = begun.batches(self._folder) if self._noted else []
        if there and not begun.tried_too_often(self._folder):
            try:
                self._opened(there[0].dimensions)
                self._take(there, size)
                begun.found_good(self._folder)
                return
            except (RunError, OSError, ValueError):
                self.close()
                self.rows = self._truncated = 0
        if self._noted:
            begun.empty(self._folder)
        self._opened()

    def add(self, vectors: Vectors, truncated: int) -> None:
        """Add a batch, of whose texts `truncated` are too long.

        Raises:
            OSError: the vectors cannot be written.
            RunError: Chroma cannot write them.
        """
        self._file.add(vectors)
        if self._noted:
            begun.note(self._folder, vectors, truncated)
        self._index(vectors)
        self.rows += len(vectors)
        self._truncated += truncated

    def close(self) -> None:
        """Let go of the files."""
        self._open.close()

    def finish(self) -> None:
        """Note what was found out."""
        self._file.finish(self._truncated)

    def _opened(self, there: int = 0) -> None:
        """Open the files; with `there`, what they hold already: vectors of so many numbers."""
        self._file = Writing(self._folder, self._total, there > 0)
        self._open.callback(self._file.close)
        if there:
            self._file.resume(there)
        if self._approximate:
            if there and not whole(self._folder):
                raise ValueError("the collection is damaged")
            self._adding = Adding(self._folder, self._settings, self._last)
            self._open.callback(self._adding.close)

    def _take(self, noted: list[begun.Batch], size: int) -> None:
        """Take what is there: vectors whose checksums are right, and Chroma's batches of them.

        Raises:
            ValueError: the two do not fit together.
        """
        indexed = len(self._adding) if self._adding is not None else 0
        good = 0
        for batch in noted:
            vectors = self._file.read(self.rows, batch.rows)
            full = batch.rows == size or self.rows + batch.rows == self._total
            if not full or begun.sum_of(vectors, batch.truncated) != batch.sum:
                break
            after = self.rows + batch.rows
            if after <= indexed and not self._holds(vectors):
                raise ValueError("what the collection holds is not what was added")
            if after > indexed:
                self._index(vectors)
            self.rows, good = after, good + 1
            self._truncated += batch.truncated
        if indexed > self.rows or (indexed % size and indexed != self._total):
            raise ValueError("the collection holds what is not in the file")
        begun.cut(self._folder, good)
        self._file.cut(self.rows)

    def _holds(self, vectors: Vectors) -> bool:
        assert self._adding is not None, "it holds something"
        return self._adding.holds(self._ids(vectors), vectors)

    def _index(self, vectors: Vectors) -> None:
        if self._adding is not None:
            self._adding.add(self._ids(vectors), vectors)

    def _ids(self, vectors: Vectors) -> list[str]:
        return [str(self.rows + at) for at in range(len(vectors))]
