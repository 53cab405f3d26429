"""Asks a chat model several prompts at once, and caches its usable replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeVar

from harness.cache.folders import Cache
from harness.errors import StageError
from harness.models import concurrency
from harness.models.chat import ChatModel
from harness.models.chat.settings import ChatReply
from harness.models.rephrasing import PromptRequest

KIND = "replies"
T = TypeVar("T")
_Key = tuple[str, int]
"""A prompt, and the number of the sample."""


class ChatReplies:
    """The replies that one chat model gave, by prompt and sample."""

    def __init__(self, cache: Cache, chat: ChatModel) -> None:
        self._cache = cache
        self._chat = chat
        about = {"chat": chat.identity()}
        self._table = cache.reply_table(KIND, ChatReply, about, chat.kind, counted=False)

    def to(self, requests: Sequence[PromptRequest[T]]) -> list[T | StageError]:
        """Return what is read of the reply to each prompt, or why there is nothing.

        A reply that cannot be used is not kept, nor is a failure: whoever asks again gets another
        try. What is there twice is asked once.
        """
        request_of = {_key(request): request for request in requests}
        cached = self._known(request_of)
        results: dict[_Key, T | StageError] = {**cached}
        self._cache.count(KIND, reused=len(results))

        def keep(done: concurrency.CallResult[_Key, ChatReply]) -> None:
            result = self._store(done, request_of[done.key])
            results[done.key] = result

        new = [
            (key, partial(self._chat.ask, request.prompt, request.sample))
            for key, request in request_of.items()
            if key not in results
        ]
        concurrency.call_all(new, self._chat.at_once, keep)
        return [results[_key(request)] for request in requests]

    def known(self, requests: Sequence[PromptRequest[T]]) -> list[T | None]:
        """Return what is read of the reply to each prompt that is there; nobody is asked."""
        cached = self._known({_key(request): request for request in requests})
        return [cached.get(_key(request)) for request in requests]

    def missing(self, requests: Sequence[PromptRequest[T]]) -> list[PromptRequest[T]]:
        """Return those that the model would be asked, each once; nobody is asked."""
        request_of = {_key(request): request for request in requests}
        cached = self._known(request_of)
        return [request for key, request in request_of.items() if key not in cached]

    def some(self, most: int) -> list[ChatReply]:
        """Return at most so many replies that are there, any of them."""
        return self._table.some(most)

    def _known(self, request_of: Mapping[_Key, PromptRequest[T]]) -> dict[_Key, T]:
        """Return what is read of the replies that are there and can be used."""
        results: dict[_Key, T] = {}
        for key, reply in self._table.get(request_of.keys()).items():
            result = _read(request_of[key], reply)
            if not isinstance(result, StageError):
                results[key] = result
        return results

    def _store(
        self, done: concurrency.CallResult[_Key, ChatReply], request: PromptRequest[T]
    ) -> T | StageError:
        """Return what a call came to, once it is kept if it can be used."""
        if done.answer is None:
            return StageError(done.failure)
        reply = done.answer
        result = _read(request, reply)
        if not isinstance(result, StageError):
            self._cache.count(KIND, made=1)
            self._table.put({done.key: reply})
        self._cache.spend(self._chat.shown, reply.tokens_in, reply.tokens_out)
        return result


def _key(request: PromptRequest[T]) -> _Key:
    return request.prompt, request.sample


def _read(request: PromptRequest[T], reply: ChatReply) -> T | StageError:
    try:
        return request.read(reply)
    except StageError as error:
        return error
