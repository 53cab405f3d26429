"""Embeds each text once and caches its vector, whatever corpus or chunker it is from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from harness.cache.folders import Cache
from harness.cache.tables import Table
from harness.errors import ModelError
from harness.files.batches import batched
from harness.protocols import Embedder, Shortens, TextKind, Vectors

KIND = "vectors"
_BATCH_TEXTS = 1_024
"""How many texts are embedded together, and lost together if the run is killed."""

Flags = NDArray[np.bool_]
"""For each text, whether it is longer than the model reads."""


class CachedEmbedder:
    """One embedder, with the vectors that were made before.

    Of one that shortens vectors the whole ones are kept, for others that shorten the same.
    """

    def __init__(self, embedder: Embedder, cache: Cache) -> None:
        self._shortens = embedder if isinstance(embedder, Shortens) else None
        self._embedder = embedder if self._shortens is None else self._shortens.whole()
        self._about = {"embedder": self._embedder.identity()} if embedder.kept else {}
        self._cache = cache
        self._sizes: set[int] = set()
        self._table: Table[bytes] | None = None
        if embedder.kept:
            self._table = cache.table(KIND, bytes, self._about)

    def started_at(self) -> datetime | None:
        """Return from when on vectors were kept; None where none are."""
        return self._cache.started_at(KIND, self._about) if self._table is not None else None

    def embed(
        self,
        texts: Sequence[str],
        kind: TextKind,
        progress: Callable[[int], None] = lambda done: None,
    ) -> tuple[Vectors, Flags]:
        """Return the vector of each text, and whether the model reads less than all of it.

        `progress` receives how many of the texts are done.

        Raises:
            ModelError: the model gives vectors of another size than it gave before.
        """
        vectors, flags = self._whole(texts, kind, progress)
        return vectors if self._shortens is None else self._shortens.shorten(vectors), flags

    def missing(self, texts: Iterable[str], kind: TextKind) -> list[str]:
        """Return the different texts of each batch whose vectors are not there.

        No vector is read, so one that is damaged counts as there.
        """
        missing: list[str] = []
        for batch in batched(texts, _BATCH_TEXTS):
            keys = dict.fromkeys((kind, text) for text in batch)
            lacking = keys if self._table is None else self._table.missing(keys)
            missing += [text for _, text in lacking]
        return missing

    def _whole(
        self, texts: Sequence[str], kind: TextKind, progress: Callable[[int], None]
    ) -> tuple[Vectors, Flags]:
        if self._table is None:
            embedded = self._made(texts, kind)
            progress(len(texts))
            return embedded
        different = list(dict.fromkeys((kind, text) for text in texts))
        row_of = self._table.get(different)
        new = [key for key in different if key not in row_of]
        done = len(texts) - len(new)
        if not new:
            progress(done)
        for batch in batched(new, _BATCH_TEXTS):
            packed = _pack_rows(*self._made([text for _, text in batch], kind))
            rows = dict(zip(batch, packed, strict=True))
            self._table.put(rows)
            row_of |= rows
            done += len(batch)
            progress(done)
        packed = [row_of[kind, text] for text in texts]
        self._sizes.update(map(len, packed))
        if len(self._sizes) > 1:
            # A server may put another model behind the same name.
            raise ModelError(
                f"embedder {self._embedder.name!r} gives vectors of another size than it gave "
                "before, which are kept\n  to embed everything again, run with --fresh"
            )
        return _unpack_rows(packed) if packed else self._made([], kind)

    def _made(self, texts: Sequence[str], kind: TextKind) -> tuple[Vectors, Flags]:
        vectors = self._embedder.embed(texts, kind)
        return vectors, np.array(self._embedder.truncated(texts), dtype=np.bool_)


def _pack_rows(vectors: Vectors, flags: Flags) -> list[bytes]:
    """Return each vector as bytes, little-endian, and its flag behind it."""
    rows = vectors.astype("<f4", copy=False)
    return [row.tobytes() + bytes([int(flag)]) for row, flag in zip(rows, flags, strict=True)]


def _unpack_rows(packed: Sequence[bytes]) -> tuple[Vectors, Flags]:
    raw = np.frombuffer(b"".join(packed), dtype=np.uint8).reshape(len(packed), -1)
    vectors = np.ascontiguousarray(raw[:, :-1]).view("<f4").astype(np.float32, copy=False)
    return vectors, raw[:, -1] != 0
