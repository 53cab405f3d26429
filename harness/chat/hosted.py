"""Hosted: any chat model that LangChain can start by name."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from harness.chat import ChatModel, Reply, encodable
from harness.errors import HarnessError, MissingExtra, StageError
from harness.paths import portable

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_SERVERS = {
    "openai": ("OPENAI_API_BASE", "OPENAI_BASE_URL"),
    "azure_openai": ("AZURE_OPENAI_ENDPOINT",),
}
"""Where a provider's library looks for a URL where `base_url` is None; the first one set holds."""
_SEEDS = ("seed", "random_seed")
"""What the field for the seed is called in those of LangChain's models that have one."""
_FINISHES = ("finish_reason", "stop_reason", "done_reason")
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the library stumbles with over a reply that is not of the form it should have."""
_PASSWORD = re.compile(r"://[^/@\s:]*:([^/@\s]+)@")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST = 8
"""Nothing shorter in the environment is taken for a secret: `KEY=1` would black out every 1."""


def check(chat: ChatModel) -> None:
    """Start the model."""
    _started(chat)


def ask(chat: ChatModel, prompt: str) -> Reply:
    """Ask the model once; the library retries what is worth retrying.

    A server's `Retry-After` is left to the library, which knows its provider's dialect of it.
    """
    model = _started(chat)
    seed = next((name for name in _SEEDS if name in type(model).model_fields), None)
    try:
        reply = model.model_copy(update={seed: chat.seed} if seed else {}).invoke(prompt)
        usage: Any = reply.usage_metadata or {}
        about = reply.response_metadata
        return Reply(
            str(reply.text),
            tokens_in=usage.get("input_tokens"),
            tokens_out=usage.get("output_tokens"),
            model=_text(about.get("model_name")) or chat.model,
            finish=next((text for name in _FINISHES if (text := _text(about.get(name)))), None),
        )
    except _UNREADABLE as error:
        raise StageError(f"its reply cannot be read: {_said(error, chat)}") from None
    except Exception as error:  # noqa: BLE001  every provider has errors of its own
        raise StageError(_said(error, chat)) from None


def identity(chat: ChatModel) -> dict[str, Any]:
    """Return the URL that will be asked; None for the provider's own."""
    return {"base_url": server(chat)}


def server(chat: ChatModel) -> str | None:
    """Return the URL that will be asked, or None for the provider's own."""
    if chat.base_url is not None:
        return chat.base_url
    variables = _SERVERS.get(_provider(chat), ())
    return next((url for name in variables if (url := os.environ.get(name))), None)


def _provider(chat: ChatModel) -> str:
    provider, named, _ = chat.model.partition(":")
    # LangChain guesses the provider of a model that names none: OpenAI's by names such as gpt-4o.
    return provider if named else "openai"


def _started(chat: ChatModel) -> BaseChatModel:
    # The seed is set on each prompt: a model is started once for all samples.
    return _start(replace(chat, seed=None), server(chat), os.environ.get("OPENAI_API_KEY"))


@lru_cache
def _start(chat: ChatModel, server: str | None, key: str | None) -> BaseChatModel:
    """Start a model once for each server and key: the environment may name others later."""
    try:
        from langchain.chat_models import init_chat_model
    except ModuleNotFoundError as error:
        raise MissingExtra(f"chat model {chat.model!r}", str(error.name), "openai") from None
    options: dict[str, Any] = {} if chat.base_url is None else {"base_url": chat.base_url}
    if _provider(chat) == "openai" and server is not None and not key:
        options["api_key"] = "none"  # the library wants one, and a server of one's own may not
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
            f"chat model {chat.model!r} cannot be started: {_said(error, chat)}\n"
            "  name it provider:model, install the provider's langchain package, and set its key"
        ) from None


def _text(value: object) -> str | None:
    return encodable(value) if isinstance(value, str) else None


def _said(error: Exception, chat: ChatModel) -> str:
    """Return an error's first line, without the secrets that a server may have put into it."""
    lines = str(error).strip().splitlines()
    said = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    values = (value.strip() for name, value in os.environ.items() if _SECRET.search(name))
    secrets = [value for value in values if len(value) >= _SHORTEST]
    for secret in [*_PASSWORD.findall(server(chat) or ""), *secrets]:
        said = said.replace(secret, "...")
    return encodable(str(portable(said))[:300])
