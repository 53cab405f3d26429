"""The outcomes of a stored run, read from their file when they are asked for."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from threading import Lock
from typing import overload

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from harness.errors import DataError, Problem
from harness.records import Outcome
from harness.store import integrity
from harness.store.record_format import RecordFormat

Places = NDArray[np.int64]
OUTCOME_FORMAT = RecordFormat(Outcome)
MAX_BYTES_IN_MEMORY = 32_000_000
"""Bytes of a file whose outcomes stay in memory once read, where they take seven times as many."""


class LineOffsets:
    """Where the lines of a file begin, in bytes, noted as they are read or written."""

    def __init__(self) -> None:
        self._ends = array("q", [0])

    def add(self, length: int) -> None:
        """Note one more line of so many bytes."""
        self._ends.append(self._ends[-1] + length)

    @property
    def total(self) -> int:
        """How many bytes there are so far."""
        return self._ends[-1]

    def begins(self) -> Places:
        """Return where each line begins, and where the last one ends."""
        return np.array(self._ends, dtype=np.int64)


class Outcomes(Sequence[Outcome]):
    """Outcomes of a file whose lines begin at the places that are given.

    The file stays open, so that another put in its place changes nothing here. The same outcome
    read twice is equal; of a large file it is not the same object.
    """

    def __init__(
        self, file: BufferedReader, begins: Places, known: Sequence[Outcome] | None = ()
    ) -> None:
        """Begin; `known` are the first of them, None where none is to stay in memory."""
        self._file = _SharedFile(file)
        self._begins = begins
        self._lines = np.arange(len(begins) - 1)
        few = known is not None and int(begins[-1]) <= MAX_BYTES_IN_MEMORY
        self._in_memory = dict(enumerate(known or ())) if few else None

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> Outcome: ...

    @overload
    def __getitem__(self, index: slice) -> Outcomes: ...

    def __getitem__(self, index: int | slice) -> Outcome | Outcomes:
        if isinstance(index, slice):
            return self.at(np.arange(len(self))[index])
        return self._read(int(self._lines[index]))

    def __iter__(self) -> Iterator[Outcome]:
        return map(self._read, self._lines.tolist())

    def at(self, places: Places) -> Outcomes:
        """Return the outcomes at some places, in their order."""
        some = Outcomes.__new__(Outcomes)
        some.__dict__ = {**self.__dict__, "_lines": self._lines[places]}
        return some

    def _read(self, line: int) -> Outcome:
        """Return the outcome of a line.

        Raises:
            DataError: the file was changed since it was read.
        """
        if self._in_memory is not None and line in self._in_memory:
            return self._in_memory[line]
        begin, end = self._begins[line : line + 2].tolist()
        try:
            outcome = OUTCOME_FORMAT.parse(self._file.read(begin, end - begin))
        except ValidationError:
            path = self._file.path
            problem = Problem(f"{path.name}, line {line + 1}", *integrity.REPLACED)
            raise DataError(str(path.parent), [problem]) from None
        if self._in_memory is not None:
            self._in_memory[line] = outcome
        return outcome


class _SharedFile:
    """An open file that several threads read, closed with the last that holds it."""

    def __init__(self, file: BufferedReader) -> None:
        self.path = Path(file.name)
        self._file = os.fdopen(os.dup(file.fileno()), "rb")
        self._lock = Lock()

    def read(self, begin: int, length: int) -> bytes:
        with self._lock:
            self._file.seek(begin)
            return self._file.read(length)

    def __del__(self) -> None:
        self._file.close()
