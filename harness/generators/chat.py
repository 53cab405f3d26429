"""Chat: any chat model that LangChain can start by name."""

from __future__ import annotations

import os
import re
import string
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Len

from harness import fingerprint
from harness.declines import DECLINES, is_decline
from harness.errors import HarnessError, MissingExtra, StageError
from harness.generators import generators
from harness.paths import portable
from harness.records import Answer

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

PROMPT = """\
Answer the question from the context alone, in one or two sentences.
If the context does not hold the answer, say exactly: I don't know.

Context:
{context}

Question: {question}
Answer:"""

_PACE = ("timeout", "retries", "concurrent")
_SERVERS = {
    "openai": ("OPENAI_API_BASE", "OPENAI_BASE_URL"),
    "azure_openai": ("AZURE_OPENAI_ENDPOINT",),
}
"""Where a provider's library looks for a URL where `base_url` is None; the first one set holds."""


@generators.register
@dataclass(frozen=True)
class Chat:
    """A chat model by its `init_chat_model` name, `provider:model`, and a prompt template.

    The template has the places {context} and {question}. An answer that is empty or matches one
    of `decline_patterns` (regular expressions, letter case ignored) is a decline. Keys come from
    the environment, by the provider's own variable, and so does the URL of OpenAI's server where
    `base_url` is None. At most `concurrent` questions are asked at once; `timeout`, in seconds, is
    for each of the 1 + `retries` requests of a question.
    """

    model: str
    prompt: str = PROMPT
    temperature: Annotated[float, Ge(0)] = 0.0
    max_tokens: Annotated[int, Gt(0)] = 256
    base_url: str | None = None
    timeout: Annotated[float, Gt(0)] = 60.0
    retries: Annotated[int, Ge(0)] = 3
    concurrent: Annotated[int, Ge(1)] = 4
    decline_patterns: Annotated[tuple[str, ...], Len(1)] = DECLINES

    name: ClassVar[str] = "chat"
    version: ClassVar[int] = 1
    answers: ClassVar[bool] = True
    copies: ClassVar[bool] = False

    def __post_init__(self) -> None:
        try:
            places = [place for _, place, _, _ in string.Formatter().parse(self.prompt) if place]
        except ValueError as error:
            raise ValueError(f"prompt: {error}; write {{{{ and }}}} for braces") from None
        if sorted(set(places)) != ["context", "question"]:
            raise ValueError(
                f"prompt: it must have the places {{context}} and {{question}}, and has {places}"
            )
        for pattern in self.decline_patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"decline_patterns: {pattern!r}: {error}") from None

    def check(self) -> None:
        """Start the model, which finds a missing library, name or key."""
        _start(self, _server(self))

    def answer(self, question: str, context: str) -> Answer:
        """Ask the model once; the library retries what is worth retrying.

        A server's `Retry-After` is left to the library, which knows its provider's dialect of it.
        What cannot be encoded in UTF-8, such as half a surrogate pair, becomes a question mark.
        """
        prompt = self.prompt.format(context=context, question=question)
        try:
            reply = _start(self, _server(self)).invoke(prompt)
        except HarnessError:
            raise
        except Exception as error:  # noqa: BLE001  every provider has errors of its own
            raise StageError(f"generator 'chat' failed: {_said(error)}") from None
        text = _encodable(str(reply.text)).strip()
        usage: Any = reply.usage_metadata or {}
        about = reply.response_metadata
        return Answer(
            text,
            declined=is_decline(text, self.decline_patterns),
            tokens_in=usage.get("input_tokens"),
            tokens_out=usage.get("output_tokens"),
            model=about.get("model_name") or self.model,
            finish=about.get("finish_reason"),
        )

    def identity(self) -> dict[str, Any]:
        """Return all that shapes an answer: not the pace of asking, nor a URL's credentials."""
        shaping = {k: v for k, v in fingerprint.identity(self).items() if k not in _PACE}
        return {**shaping, "base_url": portable(_server(self))}


def _server(chat: Chat) -> str | None:
    """Return the URL that will be asked, or None for the provider's own."""
    if chat.base_url is not None:
        return chat.base_url
    provider, named, _ = chat.model.partition(":")
    # LangChain guesses the provider of a model that names none: OpenAI's by names such as gpt-4o.
    variables = _SERVERS.get(provider if named else "openai", ())
    return next((url for name in variables if (url := os.environ.get(name))), None)


@lru_cache
def _start(chat: Chat, server: str | None) -> BaseChatModel:
    """Start a model once for each server: the environment may name another one later."""
    try:
        from langchain.chat_models import init_chat_model
    except ModuleNotFoundError as error:
        raise MissingExtra("generator 'chat'", str(error.name), "openai") from None
    options: dict[str, Any] = {} if chat.base_url is None else {"base_url": chat.base_url}
    try:
        model: BaseChatModel = init_chat_model(
            chat.model,
            temperature=chat.temperature,
            max_tokens=chat.max_tokens,
            timeout=chat.timeout,
            max_retries=chat.retries,
            **options,
        )
        return model
    except Exception as error:  # noqa: BLE001  every provider has errors of its own
        raise HarnessError(
            f"generator 'chat': model {chat.model!r} cannot be started: {_said(error)}\n"
            "  name it provider:model, install the provider's langchain package, and set its key"
        ) from None


def _said(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    said = f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__
    return _encodable(said)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
