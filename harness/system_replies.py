"""What systems told, kept as rows of the cache: a system is asked each question once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.cache import Cache
from harness.records import Question
from harness.rows import key_of
from harness.told import Context, Told

_VERSION = 1


@dataclass(frozen=True)
class Reply:
    """What a system told, and the seconds it took when it was asked."""

    told: Told
    seconds: float


class SystemReplies:
    """The replies of one system (`about` is what it is), by question; failures are not kept."""

    def __init__(self, cache: Cache, about: dict[str, Any]) -> None:
        self._cache = cache
        self._about = {"version": _VERSION, "system": about}
        self._rows = cache.rows("told", self._about)

    def get(self, questions: Sequence[Question]) -> dict[str, Reply]:
        """Return the replies that are there, by question id."""
        keys = {each.id: key_of(each.id, each.text) for each in questions}
        raw = self._rows.get(list(keys.values()))
        found = {id_: _read(raw[key]) for id_, key in keys.items() if key in raw}
        self._cache.count("told", reused=len(found))
        return found

    def put(self, question: Question, reply: Reply) -> None:
        """Keep one reply; it survives a kill as soon as this returns."""
        self._cache.count("told", made=1)
        text = json.dumps([asdict(reply.told), reply.seconds], separators=(",", ":"))
        self._rows.put([(key_of(question.id, question.text), text.encode())])

    def close(self) -> None:
        """Let go of the file: these replies will not be needed again."""
        self._cache.release("told", self._about)


def _read(raw: bytes) -> Reply:
    told, seconds = json.loads(raw)
    contexts = told.pop("contexts")
    if contexts is not None:
        contexts = tuple(Context(**{**each, "ids": tuple(each["ids"])}) for each in contexts)
    return Reply(Told(contexts, **told), seconds)
