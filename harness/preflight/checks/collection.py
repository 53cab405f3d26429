"""Finds vectors of an existing collection that do not suit its distance function."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from harness.preflight.checks.check_input import CheckInput, Finding

_MAX_SAMPLE = 1_000
_MAX_LENGTH_ERROR = 0.01
"""How far from 1 a vector's length may be."""


def find_unfit_vectors(run: CheckInput) -> Iterator[Finding]:
    """Yield what was noticed on reading the collection, and what its lengths mean for its order.

    An index of our own holds vectors of length 1, which every distance puts in one order.
    """
    if run.collection is None:
        return
    yield from (Finding("collection", "warning", text) for text in run.collection.warnings)
    description, total = run.collection.describe(), len(run.collection.chunks)
    chance = random.Random(run.seed)
    numbers = sorted(chance.sample(range(total), min(total, _MAX_SAMPLE)))
    vectors = run.collection.index(exact=True).vectors(numbers)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    sound = lengths[np.isfinite(lengths) & (lengths > 0)]
    unusable = len(lengths) - len(sound)
    name = f"collection {description['name']!r}"
    if unusable:
        yield Finding(
            "collection",
            "warning" if len(sound) else "error",
            f"{name}: {unusable:,} of {len(lengths):,} vectors looked at are 0, or are no numbers: "
            "they have no direction to compare",
            "embed those texts again",
        )
    if description["space"] == "ip" and len(sound) and np.abs(sound - 1).max() > _MAX_LENGTH_ERROR:
        yield Finding(
            "collection",
            "warning",
            f"{name} compares by inner product, and its vectors are {sound.min():.3f} to "
            f"{sound.max():.3f} long ({len(sound):,} looked at): long ones rank higher, "
            "whatever they say",
            "make its vectors 1 long, or its distance cosine, unless the model was trained for it",
        )
