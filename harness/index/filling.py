"""The vectors and the collection of one folder while they are filled, batch after batch."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from harness.embedders import Vectors
from harness.index import begun
from harness.index.chroma import Steps
from harness.index.flat import Writing
from harness.index.growing import Growing
from harness.index.settings import IndexSettings


class Filling:
    """An index that is being filled; `rows` says how far.

    With `going_on` each batch is noted, and what an earlier process noted there is gone on with.
    """

    def __init__(
        self, folder: Path, settings: IndexSettings, steps: Steps, approximate: bool, going_on: bool
    ) -> None:
        self.rows = 0
        self._folder = folder
        self._steps = steps
        self._noted = going_on
        self._truncated = 0
        self._open = ExitStack()
        self._file: Writing
        self._growing = Growing(folder, settings, steps, going_on) if approximate else None

    def go_on(self) -> None:
        """Open the files, with what is there of them.

        Raises:
            OSError: they cannot be written.
            RunError: Chroma cannot write its own.
        """
        there = begun.batches(self._folder) if self._noted else []
        if not self._took(there):
            if self._noted:
                begun.empty(self._folder)
            self._file = self._opened(False)
        if self._growing is not None:
            self._open.callback(self._growing.close)
            self._growing.go_back(self.rows)
            while self._growing.rows < self.rows:
                self._growing.add(self._file.read(self._growing.rows, self._steps.size))

    def add(self, vectors: Vectors, truncated: int) -> None:
        """Add a batch, of whose texts `truncated` are too long.

        Raises:
            OSError: the vectors cannot be written.
            RunError: Chroma cannot write them.
        """
        self._file.add(vectors)
        if self._noted:
            begun.note(self._folder, vectors, truncated)
        if self._growing is not None:
            self._growing.add(vectors)
        self.rows += len(vectors)
        self._truncated += truncated

    def close(self) -> None:
        """Let go of the files."""
        self._open.close()

    def finish(self) -> None:
        """Note what was found out."""
        self._file.finish(self._truncated)

    def _opened(self, there: bool) -> Writing:
        file = Writing(self._folder, self._steps.rows, there)
        self._open.callback(file.close)
        return file

    def _took(self, noted: list[begun.Batch]) -> bool:
        """Take the batches that are there, one after the other, while their checksums are right."""
        good = 0
        try:
            if noted:
                self._file = self._opened(True)
                self._file.resume(noted[0].dimensions)
            for batch in noted:
                size = min(self._steps.size, self._steps.rows - self.rows)
                vectors = self._file.read(self.rows, size)
                if batch.rows != size or begun.sum_of(vectors, batch.truncated) != batch.sum:
                    break
                good += 1
                self.rows += size
                self._truncated += batch.truncated
        except (OSError, ValueError):
            good = self.rows = self._truncated = 0
        if good:
            begun.cut(self._folder, good)
            self._file.cut(self.rows)
        else:
            self.close()
        return good > 0
