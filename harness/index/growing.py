"""A collection on disk while it is filled, and copies of it on the way, to go back to after a kill.

Chroma writes its graph in place, over several files: a process that is killed meanwhile leaves
files that do not fit together, and Chroma 1.5 may read other vectors from them, end of them, or
fill the disk. So what was open at a kill is never opened again. The log takes the vectors, which is
safe; the graph is written once a stretch, and behind each stretch all of it is copied.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from harness import checksums
from harness.embedders import Vectors
from harness.errors import RunError
from harness.index.chroma import FOLDER, Adding, Steps
from harness.index.settings import IndexSettings

_KEPT = "kept-"
_NAME = re.compile(rf"{_KEPT}(\d+)")
COPIES = f"{_KEPT}*"
"""The names of the copies, as a pattern; behind it stands how many vectors a copy has."""


class Growing:
    """The collection in `folder`; `rows` says how many vectors it has. With `copied`, copies too.

    The ids of vectors are their numbers.
    """

    def __init__(self, folder: Path, settings: IndexSettings, steps: Steps, copied: bool) -> None:
        self.rows = 0
        self._folder = folder
        self._settings = settings
        self._steps = steps
        self._copied = copied
        self._adding: Adding | None = None

    def go_back(self, most: int) -> None:
        """Open the copy that has the most vectors, but not more than `most`, or an empty one.

        Raises:
            OSError, RunError: it cannot be written.
        """
        for rows, copy in self._copies():
            if self._adding is None and rows <= most and self._took(copy, rows):
                self.rows = rows
            else:
                shutil.rmtree(copy)
        if self._adding is None:
            self._open(None)

    def add(self, vectors: Vectors) -> None:
        """Add a batch.

        Raises:
            RunError: Chroma cannot write it.
        """
        assert self._adding is not None, "it is open"
        self._adding.add([str(self.rows + at) for at in range(len(vectors))], vectors)
        self.rows += len(vectors)
        if self._copied and self._steps.ends_stretch(self.rows):
            self._copy()

    def close(self) -> None:
        """Let go of the files."""
        if self._adding is not None:
            self._adding.close()
            self._adding = None

    def _open(self, copy: Path | None) -> None:
        shutil.rmtree(self._folder / FOLDER, ignore_errors=True)
        if copy is not None:
            shutil.copytree(copy / FOLDER, self._folder / FOLDER)
        self._adding = Adding(self._folder, self._settings, self._steps.last)

    def _took(self, copy: Path, rows: int) -> bool:
        """Return whether a copy is whole, and open."""
        if checksums.problem(copy, {}) is not None:
            return False
        try:
            self._open(copy)
            if self._adding is not None and len(self._adding) == rows:
                return True
        except RunError:
            pass
        self.close()
        return False

    def _copy(self) -> None:
        """Copy what is there, in place of the copy before, unless the room may be needed."""
        self.close()  # so that nothing is on its way to the disk
        before = [copy for _, copy in self._copies()]
        copy = self._folder / f"{_KEPT}{self.rows}"
        try:
            if self._room():
                shutil.copytree(self._folder / FOLDER, copy / FOLDER)
                checksums.write(copy, {})
                for each in before:
                    shutil.rmtree(each)
        except OSError:  # it only saves time
            shutil.rmtree(copy, ignore_errors=True)
        self._adding = Adding(self._folder, self._settings, self._steps.last)

    def _room(self) -> bool:
        """Return whether the disk takes all of the collection and two copies of it besides."""
        files = (path for path in (self._folder / FOLDER).rglob("*") if path.is_file())
        whole = sum(path.stat().st_size for path in files) * self._steps.rows / self.rows
        return shutil.disk_usage(self._folder).free > 3 * whole

    def _copies(self) -> Iterator[tuple[int, Path]]:
        """Yield how many vectors each copy has, and its folder, the most first."""
        named = ((_NAME.fullmatch(path.name), path) for path in self._folder.iterdir())
        yield from sorted(((int(name[1]), path) for name, path in named if name), reverse=True)
