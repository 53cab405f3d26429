"""Texts to token ids, by the `tokenizers` library alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["document", "query"]


@dataclass(frozen=True)
class Reading:
    """How a model reads texts.

    `limit` is how many tokens it reads, special ones included; None: all.
    """

    tokenizer: str
    limit: int | None
    pad: int

    def settings(self) -> dict[str, Any]:
        """Return everything but the tokenizer."""
        return {"limit": self.limit, "pad": self.pad}


class Reader:
    """Tokenises many texts at once, on all cores."""

    def __init__(self, reading: Reading) -> None:
        from tokenizers import Tokenizer

        self.reading = reading
        self._last: tuple[list[str], list[bool]] = ([], [])
        self._tokenizer = Tokenizer.from_str(reading.tokenizer)
        self._tokenizer.no_padding()
        if reading.limit is None:
            self._tokenizer.no_truncation()
        else:
            self._tokenizer.enable_truncation(reading.limit)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text's tokens, cut at the model's limit."""
        return self.read(texts)[0]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return of each text whether it has more tokens than the model reads."""
        known, cut = self._last
        return list(cut) if known == list(texts) else self.read(texts)[1]

    def read(self, texts: Sequence[str]) -> tuple[list[list[int]], list[bool]]:
        """Return what `ids` and `truncated` do."""
        found = self._read(texts)
        cut = [bool(each.overflowing) for each in found]
        self.remember(texts, cut)
        return [each.ids for each in found], cut

    def remember(self, texts: Sequence[str], cut: Sequence[bool]) -> None:
        """Keep what `truncated` is to return of these texts: it is asked right after `ids`."""
        self._last = (list(texts), list(cut))

    def _read(self, texts: Sequence[str]) -> list[Any]:
        found: list[Any] = self._tokenizer.encode_batch_fast(list(texts))
        return found


def reading_of(tokenizer: str, settings: Mapping[str, Any]) -> Reading:
    """Return the reading that `Reading.settings` and the tokenizer's JSON describe.

    Raises:
        ValueError: the tokenizer is not JSON.
    """
    json.loads(tokenizer)
    return Reading(tokenizer, **settings)
