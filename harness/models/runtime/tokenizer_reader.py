"""Turns texts into token ids, by the `tokenizers` library alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["document", "query"]


@dataclass(frozen=True)
class TokenizerSettings:
    """How a model reads texts.

    `limit` is how many tokens it reads, special ones included; None: all.
    """

    tokenizer: str
    limit: int | None
    pad: int

    def settings(self) -> dict[str, Any]:
        """Return everything but the tokenizer."""
        return {"limit": self.limit, "pad": self.pad}


class BatchTokenizer:
    """Tokenises many texts at once, on all cores."""

    def __init__(self, reading: TokenizerSettings) -> None:
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
        last_texts, cut = self._last
        return list(cut) if last_texts == list(texts) else self.read(texts)[1]

    def read(self, texts: Sequence[str]) -> tuple[list[list[int]], list[bool]]:
        """Return what `ids` and `truncated` do."""
        encodings = self._read(texts)
        cut = [bool(encoding.overflowing) for encoding in encodings]
        self.remember(texts, cut)
        return [encoding.ids for encoding in encodings], cut

    def remember(self, texts: Sequence[str], cut: Sequence[bool]) -> None:
        """Keep what `truncated` is to return of these texts: it is asked right after `ids`."""
        self._last = (list(texts), list(cut))

    def _read(self, texts: Sequence[str]) -> list[Any]:
        encodings: list[Any] = self._tokenizer.encode_batch_fast(list(texts))
        return encodings


def parse_settings(tokenizer: str, settings: Mapping[str, Any]) -> TokenizerSettings:
    """Return the reading that `TokenizerSettings.settings` and the tokenizer's JSON describe.

    Raises:
        ValueError: the tokenizer is not JSON.
    """
    json.loads(tokenizer)
    return TokenizerSettings(tokenizer, **settings)
