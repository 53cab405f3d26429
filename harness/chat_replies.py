"""Replies of a chat model to prompts: several asked at once, and kept where they can be used."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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

KIND = "replies"
_VERSION = 1
T = TypeVar("T")


class ChatReplies:
    """The replies that one chat model gave, by prompt and sample."""

    def __init__(self, cache: Cache, chat: ChatModel) -> None:
        self._cache = cache
        self._chat = chat
        self._rows = cache.rows(KIND, {"version": _VERSION, "chat": chat.identity()})

    def to(self, wanted: Sequence[Wanted[T]]) -> list[T | StageError]:
        """Return what is read of the reply to each prompt, or why there is nothing.

        A reply that cannot be used is not kept, nor is a failure: whoever asks again gets another
        try. What is there twice is asked once.
        """
        each = {_key(one): one for one in wanted}
        known = self._known(each)
        made: dict[bytes, T | StageError] = {**known}
        self._cache.count(KIND, reused=len(made))

        def keep(done: calls.Done[bytes, Reply]) -> None:
            found = self._kept(done, each[done.key])
            made[done.key] = found

        new = [
            (key, partial(self._chat.ask, one.prompt, one.sample))
            for key, one in each.items()
            if key not in made
        ]
        with closing(calls.done(new, self._chat.at_once, keep)) as finished:
            for _ in finished:
                pass
        return [made[_key(one)] for one in wanted]

    def missing(self, wanted: Sequence[Wanted[T]]) -> list[Wanted[T]]:
        """Return those that the model would be asked, each once; nobody is asked."""
        each = {_key(one): one for one in wanted}
        known = self._known(each)
        return [one for key, one in each.items() if key not in known]

    def some(self, most: int) -> list[Reply]:
        """Return at most so many replies that are there, any of them."""
        return [Reply(**json.loads(raw)) for raw in self._rows.some(most)]

    def _known(self, each: Mapping[bytes, Wanted[T]]) -> dict[bytes, T]:
        """Return what is read of the replies that are there and can be used."""
        found: dict[bytes, T] = {}
        for key, raw in self._rows.get(list(each)).items():
            known = _read(each[key], Reply(**json.loads(raw)))
            if not isinstance(known, StageError):
                found[key] = known
        return found

    def _kept(self, done: calls.Done[bytes, Reply], one: Wanted[T]) -> T | StageError:
        """Return what a call came to, once it is kept if it can be used."""
        if done.answer is None:
            return StageError(done.failure)
        reply = done.answer
        found = _read(one, reply)
        if not isinstance(found, StageError):
            self._cache.count(KIND, made=1)
            self._rows.put([(done.key, json.dumps(asdict(reply)).encode())])
        self._cache.spend(self._chat.shown, reply.tokens_in, reply.tokens_out)
        return found


def _key(one: Wanted[T]) -> bytes:
    return key_of(one.prompt, str(one.sample))


def _read(one: Wanted[T], reply: Reply) -> T | StageError:
    try:
        return one.read(reply)
    except StageError as error:
        return error
