"""Hosted: any chat model that LangChain can start by name."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from harness import slots
from harness.arguments import scrubbed
from harness.chat import ChatModel, Reply, encodable, openai_client
from harness.errors import HarnessError, MissingExtra, SpecError, StageError
from harness.paths import portable
from harness.retrying import PATIENCE, Tries, within

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_SERVERS = {
    "anthropic": ("ANTHROPIC_API_URL", "ANTHROPIC_BASE_URL"),
    "azure_openai": ("AZURE_OPENAI_ENDPOINT",),
    "deepseek": ("DEEPSEEK_API_BASE",),
    "groq": ("GROQ_API_BASE",),
    "ollama": ("OLLAMA_HOST",),
    "openai": ("OPENAI_API_BASE", "OPENAI_BASE_URL"),
}
"""Where a provider's library looks for a URL where `base_url` is None; the first one set holds."""
_STRICT = ("api.openai.com", "openai.azure.com")
"""Where the older name of a reply's length is refused; many other servers know no other."""
_SEEDS = ("seed", "random_seed")
"""What the field for the seed is called in those of LangChain's models that have one."""
_SETTINGS = {
    "temperature": "temperature",
    "max_tokens": "max_tokens",
    "num_predict": "max_tokens",
    "base_url": "base_url",
}
"""The setting of a chat model that each option of a provider's class comes from."""
_OURS = ("timeout", "client_kwargs", "max_retries")
"""The options that a class need not take: what they are for is done here in any case."""
_OF_OPENAI = ("openai", "azure_openai")
"""The providers whose classes take a client of OpenAI's own library."""
_FINISHES = ("finish_reason", "stop_reason", "done_reason")
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the library stumbles with over a reply that is not of the form it should have."""
_LOGIN = re.compile(r"://([^/@\s]+)@")


def check(chat: ChatModel) -> None:
    """Start the model."""
    _started(chat)


def ask(chat: ChatModel, prompt: str) -> Reply:
    """Ask the model; what is worth repeating is repeated, and the library itself repeats nothing.

    `timeout` is for the whole of a request, whatever the library makes of it.
    """
    model = _started(chat)
    seed = next((name for name in _SEEDS if name in type(model).model_fields), None)
    asked = model.model_copy(update={seed: chat.seed} if seed else {})
    shared = slots.of(server(chat), chat.model)
    tries = Tries(chat.retries, chat.patience, shared, chat.concurrent)
    try:
        reply = tries(partial(within, chat.timeout, partial(asked.invoke, prompt)))
        usage: Any = reply.usage_metadata or {}
        about = reply.response_metadata
        return Reply(
            _text(reply.text, chat) or "",
            tokens_in=usage.get("input_tokens"),
            tokens_out=usage.get("output_tokens"),
            model=_text(about.get("model_name"), chat) or chat.model,
            finish=next(
                (text for name in _FINISHES if (text := _text(about.get(name), chat))), None
            ),
        )
    except StageError as error:
        raise StageError(_concealed(f"{error}{tries.unmet}", chat)) from None
    except _UNREADABLE as error:
        raise StageError(f"its reply cannot be read: {_said(error, chat)}{tries.unmet}") from None
    except Exception as error:  # noqa: BLE001  every provider has errors of its own
        raise StageError(_said(error, chat) + tries.unmet) from None


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
    plain = replace(chat, seed=None, retries=0, patience=PATIENCE, concurrent=1)
    return _start(plain, server(chat), os.environ.get("OPENAI_API_KEY"))


@lru_cache
def _start(chat: ChatModel, server: str | None, key: str | None) -> BaseChatModel:
    """Start a model once for each server and key: the environment may name others later."""
    try:
        from langchain.chat_models import init_chat_model
    except ModuleNotFoundError as error:
        raise MissingExtra(f"chat model {chat.model!r}", str(error.name), "openai") from None
    try:
        options = _options(chat, server, key)
        model: BaseChatModel = init_chat_model(chat.model, **options)
        unknown = _unknown(chat, type(model), options)
        if unknown:
            # Some classes send on what they do not know.
            known = {name: each for name, each in options.items() if name not in unknown}
            model = init_chat_model(chat.model, **known)
        return model
    except SpecError:
        raise
    except Exception as error:  # noqa: BLE001  every provider has errors of its own
        raise HarnessError(
            f"chat model {chat.model!r} cannot be started: {_said(error, chat)}\n"
            "  name it provider:model, install the provider's langchain package, and set its key"
        ) from None


def _options(chat: ChatModel, server: str | None, key: str | None) -> dict[str, Any]:
    """Return the settings by the names that the provider's class has for them."""
    named: dict[str, Any] = {} if chat.base_url is None else {"base_url": chat.base_url}
    named["temperature"] = chat.temperature
    if _provider(chat) == "ollama":
        named |= {"num_predict": chat.max_tokens, "client_kwargs": {"timeout": chat.timeout}}
        return named
    named |= {"max_tokens": chat.max_tokens, "timeout": chat.timeout, "max_retries": 0}
    if _provider(chat) in _OF_OPENAI:
        named["http_client"] = openai_client.bounded(chat.timeout)
    if _provider(chat) == "openai" and server is not None:
        if not key:
            named["api_key"] = "none"  # the library wants one, and a server of one's own may not
        if not (urlsplit(server).hostname or "").endswith(_STRICT):
            named["extra_body"] = {"max_tokens": chat.max_tokens}
    return named


def _unknown(chat: ChatModel, kind: type[BaseChatModel], options: Mapping[str, Any]) -> list[str]:
    """Return the options that a class does not take, all of them for settings nobody asked for.

    Raises:
        SpecError: one of them was asked for.
    """
    taken: list[Any] = []
    for own, about in kind.model_fields.items():
        taken += [own, about.alias, about.validation_alias]
        taken += getattr(about.validation_alias, "choices", ())
    plain = ChatModel(chat.model)
    known = (*_SETTINGS, *_OURS)
    unknown = [name for name in options if name in known and name not in taken]
    for setting in (_SETTINGS[name] for name in unknown if name in _SETTINGS):
        if getattr(chat, setting) != getattr(plain, setting):
            raise SpecError(
                f"chat model {chat.model!r}: {kind.__name__} takes no `{setting}`",
                f"leave `{setting}` out, or reach the model by another provider",
            )
    return unknown


def _text(value: object, chat: ChatModel) -> str | None:
    """Return a text of a reply, without the secrets that a server may have put into it."""
    return encodable(_concealed(value, chat)) if isinstance(value, str) else None


def _said(error: Exception, chat: ChatModel) -> str:
    """Return an error's first line, without the secrets that a server may have put into it."""
    lines = str(error).strip().splitlines()
    said = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return encodable(str(portable(_concealed(said, chat)))[:300])


def _concealed(text: str, chat: ChatModel) -> str:
    """Return `text` without keys, or the password of the server's URL in either form it is sent."""
    for login in _LOGIN.findall(server(chat) or ""):
        sent = base64.b64encode(unquote(login).encode()).decode()
        for secret in (sent, login.partition(":")[2]):
            text = text.replace(secret, "...") if secret else text
    return scrubbed(text)
