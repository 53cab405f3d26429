"""Checks that the vectors of an existing collection suit its distance function."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harness.index import ExistingChunks
from harness.preflight.checks import CheckInput, Finding, Part, checks

_MAX_SAMPLE = 1_000
_MAX_LENGTH_ERROR = 0.01
"""How far from 1 a vector's length may be."""


@checks.register
@dataclass(frozen=True)
class Collection:
    """Distance and lengths of an existing collection's vectors that do not fit each other."""

    name: ClassVar[str] = "collection"
    order: ClassVar[int] = 30
    reads: ClassVar[tuple[Part, ...] | None] = None

    def is_expensive(self, run: CheckInput) -> bool:
        """Return False: the collection has been read, and it is a sample."""
        return False

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield what was noticed on reading it, and what its lengths mean for its order.

        An index of our own holds vectors of length 1, which every distance puts in one order.
        """
        if run.collection is None:
            return
        yield from (Finding(self.name, "warning", text) for text in run.collection.warnings)
        yield from _check_lengths(run.collection, run.prepared.config.settings.seed)


def _check_lengths(collection: ExistingChunks, seed: int) -> Iterator[Finding]:
    index, description = collection.index(exact=True), collection.describe()
    name, total = f"collection {description['name']!r}", len(collection.chunks)
    numbers = sorted(random.Random(seed).sample(range(total), min(total, _MAX_SAMPLE)))
    lengths = np.linalg.norm(index.vectors(numbers).astype(np.float64), axis=1)
    unusable = int((~np.isfinite(lengths) | (lengths == 0)).sum())
    if unusable:
        yield Finding(
            "collection",
            "error" if unusable == len(lengths) else "warning",
            f"{name}: {unusable:,} of {len(lengths):,} vectors looked at are 0, or are no numbers: "
            "they have no direction to compare",
            "embed those texts again",
        )
    sound = lengths[np.isfinite(lengths) & (lengths > 0)]
    if description["space"] == "ip" and len(sound) and np.abs(sound - 1).max() > _MAX_LENGTH_ERROR:
        yield Finding(
            "collection",
            "warning",
            f"{name} compares by inner product, and its vectors are {sound.min():.3f} to "
            f"{sound.max():.3f} long ({len(sound):,} looked at): long ones rank higher, "
            "whatever they say",
            "make its vectors 1 long, or its distance cosine, unless the model was trained for it",
        )
