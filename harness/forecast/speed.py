"""How many characters a second an embedder takes: measured before, or now on a few texts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from harness.embedders import Embedder

_FEW = 32
_HOSTED = ("langchain",)
"""Those that may cost money: none is measured."""
_WORTH = 200
"""Texts from which on a measurement is worth its time."""


def seconds(embedder: Embedder, texts: Sequence[str], characters: int, count: int) -> float | None:
    """Return how long `count` texts with so many characters take; None where there are few.

    `texts` are some of them, and a few are embedded where nothing was measured before, unless that
    may cost money.

    Raises:
        HarnessError: the embedder cannot be used.
    """
    if count < _WORTH:
        return None
    if embedder.name in _HOSTED:
        return None
    pace = _known(embedder) or _measured(embedder, texts[:_FEW])
    return characters / pace if pace else None


def _known(embedder: Embedder) -> float | None:
    """Return the characters a second that the choice of a runtime has measured."""
    about = embedder.describe()
    if not about.get("texts_per_second"):
        return None
    from harness.runtime.choice import SAMPLE

    named = " ".join(str(about[key]) for key in ("runtime", "precision", "device"))
    texts: float | None = about["texts_per_second"].get(named)
    return None if texts is None else texts * len(SAMPLE[0])


def _measured(embedder: Embedder, texts: Sequence[str]) -> float:
    embedder.embed(texts[:1], "document")  # what is loaded once is no part of it
    start = time.perf_counter()
    embedder.embed(texts, "document")
    return sum(map(len, texts)) / max(time.perf_counter() - start, 1e-9)
