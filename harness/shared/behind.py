"""The shared store as one cache sees it: should it fail, things go on without it, with a warning.

Whoever must know that all is published asks by `flush`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from harness import checksums, removal
from harness.checksums import Sum
from harness.errors import RunError
from harness.shared import Shared
from harness.shared.shared_rows import SharedRows


class Behind:
    """What lies behind one cache; `warn` is told where it fails."""

    def __init__(self, shared: Shared, warn: Callable[[str], None]) -> None:
        self._shared = shared
        self._warn = warn
        self._lost: str | None = None
        self._rows: dict[str, SharedRows] = {}

    def publish(self, place: str, folder: Path) -> None:
        """Put the files of an artefact into the store, unless they are there."""
        with self._reaching() as lost:
            if not lost:
                self._shared.publish(place, folder)

    def fetch(self, place: str, into: Path, by_content: Mapping[str, Sum]) -> bool:
        """Put the files of an artefact into an empty folder; False where it is empty still."""
        with self._reaching() as lost:
            if not lost and self._shared.fetch(place, into):
                if checksums.problem(into, by_content) is None:
                    return True
                removal.empty(into)
                self._shared.discard(place)
        return False

    def rows(self, place: str) -> RowsBehind:
        """Return the rows of an artefact."""
        self._rows[place] = self._shared.rows(place)
        return RowsBehind(self._rows[place], self._reaching)

    def flush(self) -> None:
        """Return once all that the cache was given is in the store.

        Raises:
            RunError: it cannot be put there, or could not be earlier.
        """
        self.close()
        if self._lost is not None:
            raise RunError(
                f"what was made cannot be put into the shared store: {self._lost}\n"
                "  see that it can be reached and has room, and give the same command again"
            )

    def refresh(self) -> None:
        """Look again for what other machines have published, the next time something is asked."""
        for rows in self._rows.values():
            rows.refresh()

    def close(self) -> None:
        """Publish what is left to be."""
        with self._reaching() as lost:
            for rows in () if lost else self._rows.values():
                rows.flush()

    @contextmanager
    def _reaching(self) -> Iterator[bool]:
        """Give whether the store is lost, and note so if it turns out to be."""
        try:
            yield self._lost is not None
        except OSError as error:
            self._lost = checksums.reason(error)
            self._warn(f"the shared store cannot be used ({self._lost}); going on without it")


class RowsBehind:
    """The rows of one artefact in the store, as one cache sees them."""

    def __init__(
        self, rows: SharedRows, reaching: Callable[[], AbstractContextManager[bool]]
    ) -> None:
        self._rows = rows
        self._reaching = reaching

    def find(self, keys: Collection[bytes], here: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Return the rows of `keys` that are not `here`; what is here alone is published."""
        with self._reaching() as lost:
            if not lost:
                # A process may have been killed between keeping rows here and publishing them.
                self._rows.offer(here)
                return self._rows.find([key for key in keys if key not in here])
        return {}

    def there(self, keys: Collection[bytes]) -> set[bytes]:
        """Return those of `keys` that are there, by the keys alone."""
        with self._reaching() as lost:
            if not lost:
                return self._rows.there(keys)
        return set()

    def add(self, rows: Mapping[bytes, bytes]) -> None:
        """Take rows to be published."""
        with self._reaching() as lost:
            if not lost:
                self._rows.add(rows)
