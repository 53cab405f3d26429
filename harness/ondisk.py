"""Records that stay on disk: each is read when it is asked for, and forgotten."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import overload
from weakref import finalize

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from harness import sealed
from harness.columns import Columns
from harness.errors import DataError, Problem
from harness.stored import RecordLine


class OnDisk(Sequence[RecordLine]):
    """Records of a file that was read once before, by where each line begins.

    The file stays open, so that another put in its place changes nothing here. The same record read
    twice is equal, and not the same object.
    """

    def __init__(
        self, file: _Held, begins: NDArray[np.int64], lines: NDArray[np.int64], columns: Columns
    ) -> None:
        self._file = file
        self._begins = begins
        self._lines = lines
        self.columns = columns
        """Of all records of the file."""

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, at: int) -> RecordLine: ...

    @overload
    def __getitem__(self, at: slice) -> OnDisk: ...

    def __getitem__(self, at: int | slice) -> RecordLine | OnDisk:
        if isinstance(at, slice):
            return self.some(np.arange(len(self))[at])
        return self._read(int(self._lines[at]))

    def __iter__(self) -> Iterator[RecordLine]:
        return map(self._read, self._lines.tolist())

    def some(self, places: NDArray[np.int64]) -> OnDisk:
        """Return the records at some places, in their order."""
        return OnDisk(self._file, self._begins, self._lines[places], self.columns)

    def _read(self, line: int) -> RecordLine:
        """Return the record of a line.

        Raises:
            DataError: the file was changed since it was read.
        """
        begin, end = self._begins[line : line + 2].tolist()
        try:
            return RecordLine.model_validate_json(os.pread(self._file.number, end - begin, begin))
        except ValidationError:
            path = self._file.path
            problem = Problem(f"{path.name}, line {line + 1}", *sealed.REPLACED)
            raise DataError(str(path.parent), [problem]) from None


class _Held:
    """An open file, closed with the last that reads it."""

    def __init__(self, file: BufferedReader) -> None:
        self.path = Path(file.name)
        self.number = os.dup(file.fileno())
        finalize(self, os.close, self.number)


class Begins:
    """Where the lines of a file begin, in bytes, noted as they are read."""

    def __init__(self) -> None:
        self._ends = array("q", [0])

    def over(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines."""
        for line in lines:
            self._ends.append(self._ends[-1] + len(line))
            yield line

    def on_disk(self, file: BufferedReader, columns: Columns) -> OnDisk:
        """Return the records of all lines that were noted, of which the columns are given."""
        begins = np.array(self._ends, dtype=np.int64)
        return OnDisk(_Held(file), begins, np.arange(len(begins) - 1), columns)
