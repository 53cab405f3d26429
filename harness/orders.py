"""Orders of chunks under exact search, kept by question: how deep what was missed really lies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from harness.cache import Cache
from harness.rows import key_of

KIND = "traced"
_VERSION = 1


class Orders:
    """The numbers of the chunks that one retriever finds by exact search, best first."""

    def __init__(self, cache: Cache, about: Mapping[str, Any]) -> None:
        self._cache = cache
        self._about = {"version": _VERSION, **about}
        self._rows = cache.rows(KIND, self._about)

    def get(self, questions: Sequence[str]) -> dict[str, list[int]]:
        """Return the orders that are there, by the text of the question."""
        keys = {question: key_of(question) for question in questions}
        raw = self._rows.get(list(keys.values()))
        found = {text: json.loads(raw[key]) for text, key in keys.items() if key in raw}
        self._cache.count(KIND, reused=len(found))
        return found

    def put(self, made: Mapping[str, Sequence[int]]) -> None:
        """Keep orders."""
        self._cache.count(KIND, made=len(made))
        self._rows.put(
            {
                key_of(question): json.dumps(list(order), separators=(",", ":")).encode()
                for question, order in made.items()
            }
        )

    def close(self) -> None:
        """Let go of the file: these orders will not be needed again."""
        self._cache.release(KIND, self._about)
