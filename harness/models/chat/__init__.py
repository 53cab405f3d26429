"""Chat models: one way to ask any of them, for answers, questions, judgements and drafts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from types import ModuleType
from typing import Any

from harness.errors import StageError
from harness.files.paths import make_portable
from harness.models.chat.settings import ChatReply, ChatSettings, replace_unencodable

_SHAPING = ("model", "base_url", "temperature", "max_tokens", "seed")
_CUT_REASONS = frozenset({"length", "max_tokens", "content_filter", "safety"})
"""Why a reply ended where it was not the model that ended it, as providers put it."""


@dataclass(frozen=True)
class ChatModel(ChatSettings):
    """A chat model that is asked by its settings."""

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
            reply: ChatReply = self._backend().ask(
                replace(self, seed=seed), replace_unencodable(prompt)
            )
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

    def _backend(self) -> ModuleType:
        """Return the module that runs the model: each has `check`, `ask` and `identity`."""
        from harness.models.chat import gguf_chat, hosted_chat

        return hosted_chat if self.file is None else gguf_chat
