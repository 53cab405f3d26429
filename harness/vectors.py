"""Texts to vectors: each text is embedded once and kept, whatever corpus or chunker it is of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.batches import batched
from harness.cache import Cache
from harness.embedders import Embedder, Kind, Shortens, Vectors
from harness.errors import ModelError
from harness.rows import Rows, key_of

KIND = "vectors"
_BATCH = 1_024
"""How many texts are embedded together, and lost together if the run is killed."""

Flags = NDArray[np.bool_]
"""For each text, whether it is longer than the model reads."""


class Texts:
    """One embedder, with the vectors that were made before.

    Of one that shortens vectors the whole ones are kept, for others that shorten the same.
    """

    def __init__(self, embedder: Embedder, cache: Cache) -> None:
        self._shortens = embedder if isinstance(embedder, Shortens) else None
        self._embedder = embedder if self._shortens is None else self._shortens.whole()
        self._cache = cache
        self._sizes: set[int] = set()
        self._rows: Rows | None = None
        if embedder.kept:
            self._rows = cache.rows(KIND, {"embedder": self._embedder.identity()})

    def embed(
        self,
        texts: Sequence[str],
        kind: Kind,
        progress: Callable[[int], None] = lambda done: None,
    ) -> tuple[Vectors, Flags]:
        """Return the vector of each text, and whether the model reads less than all of it.

        `progress` is told how many of the texts are done.

        Raises:
            ModelError: the model gives vectors of another size than it gave before.
        """
        vectors, flags = self._whole(texts, kind, progress)
        return vectors if self._shortens is None else self._shortens.shorten(vectors), flags

    def missing(self, texts: Iterable[str], kind: Kind) -> dict[bytes, str]:
        """Return the different texts whose vectors are not there, by the keys of their rows.

        No vector is read, so one that is damaged counts as there.
        """
        missing: dict[bytes, str] = {}
        for batch in batched(texts, _BATCH):
            different = {key_of(kind, text): text for text in batch}
            known = set() if self._rows is None else self._rows.there(different)
            missing |= {key: text for key, text in different.items() if key not in known}
        return missing

    def _whole(
        self, texts: Sequence[str], kind: Kind, progress: Callable[[int], None]
    ) -> tuple[Vectors, Flags]:
        if self._rows is None:
            made = self._made(texts, kind)
            progress(len(texts))
            return made
        different = dict(zip((key_of(kind, text) for text in texts), texts, strict=True))
        known = self._rows.get(different)
        new = [(key, text) for key, text in different.items() if key not in known]
        self._cache.count(KIND, made=len(new), reused=len(different) - len(new))
        done = len(texts) - len(new)
        if not new:
            progress(done)
        for batch in batched(new, _BATCH):
            packed = _packed(*self._made([text for _, text in batch], kind))
            rows = dict(zip((key for key, _ in batch), packed, strict=True))
            self._rows.put(rows)
            known |= rows
            done += len(batch)
            progress(done)
        packed = [known[key_of(kind, text)] for text in texts]
        self._sizes.update(map(len, packed))
        if len(self._sizes) > 1:
            # A server may put another model behind the same name.
            raise ModelError(
                f"embedder {self._embedder.name!r} gives vectors of another size than it gave "
                "before, which are kept\n  to embed everything anew, run with --fresh"
            )
        return _unpacked(packed) if packed else self._made([], kind)

    def _made(self, texts: Sequence[str], kind: Kind) -> tuple[Vectors, Flags]:
        vectors = self._embedder.embed(texts, kind)
        return vectors, np.array(self._embedder.truncated(texts), dtype=np.bool_)


def _packed(vectors: Vectors, flags: Flags) -> list[bytes]:
    """Return each vector as bytes, little-endian, and its flag behind it."""
    rows = vectors.astype("<f4", copy=False)
    return [row.tobytes() + bytes([int(flag)]) for row, flag in zip(rows, flags, strict=True)]


def _unpacked(packed: Sequence[bytes]) -> tuple[Vectors, Flags]:
    raw = np.frombuffer(b"".join(packed), dtype=np.uint8).reshape(len(packed), -1)
    vectors = np.ascontiguousarray(raw[:, :-1]).view("<f4").astype(np.float32, copy=False)
    return vectors, raw[:, -1] != 0
