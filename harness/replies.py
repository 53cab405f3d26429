"""What a chat model says of questions, kept as rows of the cache: each prompt is sent once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from typing import TypeVar

from harness import calls
from harness.cache import Cache
from harness.chat import ChatModel, Reply
from harness.errors import StageError
from harness.rephrasing import Wanted
from harness.rows import key_of

T = TypeVar("T")
_VERSION = 1


class Replies:
    """The replies of one chat model, by prompt and number of the sample; failures are not kept."""

    def __init__(self, cache: Cache, chat: ChatModel) -> None:
        self._cache = cache
        self._chat = chat
        self._rows = cache.rows("replies", {"version": _VERSION, "chat": chat.identity()})

    def to(self, wanted: Sequence[Wanted[T]]) -> list[T | StageError]:
        """Return what is read of the reply to each prompt, or why there is nothing."""
        keys = [key_of(each.prompt, str(each.sample)) for each in wanted]
        known = {key: Reply(**json.loads(raw)) for key, raw in self._rows.get(keys).items()}
        self._cache.count("replies", reused=len(known))
        failed: dict[bytes, StageError] = {}

        def keep(done: calls.Done[bytes, Reply]) -> None:
            if done.answer is None:
                failed[done.key] = StageError(done.failure or "")
                return
            known[done.key] = done.answer
            self._cache.count("replies", made=1)
            self._rows.put([(done.key, json.dumps(asdict(done.answer)).encode())])

        new = {key: each for key, each in zip(keys, wanted, strict=True) if key not in known}
        asked = ((k, partial(self._chat.ask, w.prompt, w.sample)) for k, w in new.items())
        with closing(calls.done(asked, self._chat.concurrent, spare=keep)) as finished:
            for done in finished:
                keep(done)
        found: list[T | StageError] = []
        for key, each in zip(keys, wanted, strict=True):
            try:
                found.append(failed[key] if key in failed else each.read(known[key]))
            except StageError as error:
                found.append(error)
        return found
