"""Chat models: one way to ask any of them, for answers, questions, judgements and drafts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from harness.errors import StageError
from harness.files.paths import make_portable
from harness.models.chat import gguf_chat, hosted_chat
from harness.models.chat.chat_settings import (
    LOCAL_PREFIX,
    ChatReply,
    ChatSettings,
    replace_unencodable,
)

__all__ = ["ChatModel", "ChatReply", "relocate_model", "replace_unencodable"]

_SHAPING = ("model", "base_url", "temperature", "max_tokens", "seed")
_CUT_REASONS = frozenset({"length", "max_tokens", "content_filter", "safety"})
"""Why a reply ended where it was not the model that ended it, as providers put it."""


@dataclass(frozen=True)
class ChatModel(ChatSettings):
    """A chat model: `provider:model` as LangChain's `init_chat_model` has it, or `gguf:FILE`.

    A provider's key comes from the environment, by the provider's own variable, and so does its
    server's URL where `base_url` is None; a server of OpenAI's kind that is named needs no key. At
    most `concurrent` prompts are under way at one server at once. `timeout`, in seconds, is for
    each of the 1 + `retries` requests of a prompt: the provider's library waits and repeats, as the
    server asks (Retry-After); `patience` is for all of them together. A setting that a
    provider's library does not take, such as `max_tokens`, is refused where it is not the default.
    A GGUF file runs in this process, one prompt at a time, without timeout; `window` is how many
    tokens the prompt and the reply may have there together. `seed` None is the run's own; it is
    sent where the provider takes one.
    """

    def check(self) -> None:
        """Start the model, which finds a missing library, name, file or key.

        Raises:
            HarnessError: it cannot be started.
        """
        self._backend().check(self)

    def ask(self, prompt: str, sample: int = 0) -> ChatReply:
        """Return the reply to one prompt; `sample` is added to the seed.

        What cannot be encoded in UTF-8, such as half a surrogate pair, becomes a question mark. A
        reply may be empty only where it was the model that ended it.

        Raises:
            StageError: it gave up on this prompt, retries included.
        """
        seed = None if self.seed is None else self.seed + sample
        try:
            reply = self._backend().ask(replace(self, seed=seed), replace_unencodable(prompt))
        except StageError as error:
            raise StageError(f"chat model {self.shown!r} failed: {error}") from None
        text = replace_unencodable(reply.text).strip()
        if not text and (reply.finish or "").lower() in _CUT_REASONS:
            raise StageError(
                f"chat model {self.shown!r} failed: it said nothing before it was cut off "
                f"({reply.finish}, max_tokens={self.max_tokens})"
            )
        return replace(reply, text=text)

    def identity(self) -> dict[str, Any]:
        """Return all that shapes a reply: not the pace of asking, nor a URL's credentials."""
        about = {key: value for key, value in asdict(self).items() if key in _SHAPING}
        settings: dict[str, Any] = make_portable({**about, **self._backend().identity(self)})
        return settings

    def _backend(self) -> _Backend:
        return hosted_chat if self.file is None else gguf_chat


class _Backend(Protocol):
    """What runs a model."""

    def check(self, chat: ChatSettings) -> None: ...

    def ask(self, chat: ChatSettings, prompt: str) -> ChatReply: ...

    def identity(self, chat: ChatSettings) -> Mapping[str, Any]: ...


def relocate_model(model: str, find: Callable[[str], str]) -> str:
    """Return a model's name with the path of its file, if it has one, as `find` gives it."""
    path = model.removeprefix(LOCAL_PREFIX)
    return model if path == model else LOCAL_PREFIX + find(path)
