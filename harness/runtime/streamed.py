"""An embedding model on a graphics card."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.runtime import library
from harness.runtime.card import Card, Features, Read, Work
from harness.runtime.packing import right
from harness.runtime.reader import Kind, Reader

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor


class Streamed:
    """Embeds in batches filled by tokens, and reads texts while the card computes.

    A text's vector depends on its company in the last digits, as on any card. `reader` is None
    where only the model's library knows how to read texts.
    """

    def __init__(self, model: SentenceTransformer, reader: Reader | None, card: Card) -> None:
        self._model, self._reader, self._card = model, reader, card

    def vectors(self, texts: Sequence[str], kind: Kind, prompt: str = "") -> NDArray[np.float32]:
        """Return a row a text; `prompt` is put before each."""
        if self._reader is not None:
            return self._usual([prompt + text for text in texts], self._reader)
        if not hasattr(self._model, "preprocess"):  # an older release
            return library.encoded(self._model, texts, kind, prompt)
        return self._unusual(texts, kind, prompt)

    def truncated(self, texts: Sequence[str], prompt: str = "") -> list[bool]:
        """Return of each text whether it has more tokens than the model reads."""
        whole = [prompt + text for text in texts]
        if self._reader is not None:
            return self._reader.truncated(whole)
        limit = self._model.max_seq_length
        return [limit is not None and each > limit for each in library.tokens(self._model, whole)]

    def _usual(self, texts: list[str], reader: Reader) -> NDArray[np.float32]:
        cut = [False] * len(texts)

        def read(numbers: Sequence[int]) -> list[Read]:
            ids, over = reader.read([texts[number] for number in numbers])
            for number, each in zip(numbers, over, strict=True):
                cut[number] = each
            return [Read(len(each), each) for each in ids]

        found = self._card.matrix(
            range(len(texts)),
            Work(
                lambda number: len(texts[number]),
                read,
                partial(right, pad=reader.reading.pad),
                self._run,
            ),
        )
        reader.remember(texts, cut)
        return found

    def _unusual(self, texts: Sequence[str], kind: Kind, prompt: str) -> NDArray[np.float32]:
        limit = self._model.max_seq_length

        def read(some: Sequence[str]) -> list[Read]:
            found = library.tokens(self._model, [prompt + text for text in some])
            # The library does not say of every model: characters are hardly fewer than tokens.
            counts = [count or len(text) for count, text in zip(found, some, strict=True)]
            cut = [count if limit is None else min(count, limit) for count in counts]
            return [Read(count, text) for count, text in zip(cut, some, strict=True)]

        def fill(some: Sequence[str]) -> Features:
            features: Features = self._model.preprocess(list(some), prompt=prompt, task=kind)
            return features

        return self._card.matrix(texts, Work(len, read, fill, partial(self._run, task=kind)))

    def _run(self, features: Features, **given: Any) -> Tensor:
        found: Tensor = self._model(dict(features), **given)["sentence_embedding"]
        return found
