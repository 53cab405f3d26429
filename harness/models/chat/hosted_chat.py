"""Chat backend for hosted models: any that LangChain can start by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from threading import Condition
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harness.errors import HarnessError, MissingExtra, SpecError, StageError
from harness.models.chat import openai_client
from harness.models.chat.chat_settings import ChatReply, ChatSettings, replace_unencodable
from harness.models.retries import (
    DEFAULT_PATIENCE_SECONDS,
    call_within,
    describe_wait,
    retrying,
)
from harness.text.secrets import (
    KEY_REMEDY,
    describe_error,
    redact,
    refuse_secret_in_query,
    remember_login,
)

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
    **{name: name for name in ("temperature", "max_tokens", "base_url")},
    "num_predict": "max_tokens",
    **dict.fromkeys(("timeout", "client_kwargs", "max_retries")),
}
"""The setting that each option of a provider's class comes from; None where a class need not take
it, as what it is for is done here then."""
_OF_OPENAI = ("openai", "azure_openai")
"""The providers whose classes take a client of OpenAI's own library."""
_FINISHES = ("finish_reason", "stop_reason", "done_reason")
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the library stumbles with over a reply that is not of the form it should have."""


def check(chat: ChatSettings) -> None:
    """Start the model."""
    _start_model(chat)


def ask(chat: ChatSettings, prompt: str) -> ChatReply:
    """Ask the model; its library waits and repeats, or where it does not know how, it is done here.

    Whatever the library does, `patience` ends it, or a `timeout` that is longer.
    """
    model = _start_model(chat)
    seed = next((name for name in _SEEDS if name in type(model).model_fields), None)
    seeded = model.model_copy(update={seed: chat.seed} if seed else {})
    call = partial(seeded.invoke, prompt)
    if "max_retries" not in _accepted_options(type(model)):
        call = partial(retrying(chat.retries, chat.patience), call)
    try:
        with _limit(chat).one(chat.concurrent):
            reply = call_within(max(chat.timeout, chat.patience), call)
        usage: Any = reply.usage_metadata or {}
        about = reply.response_metadata
        return ChatReply(
            _clean_text(reply.text) or "",
            tokens_in=usage.get("input_tokens"),
            tokens_out=usage.get("output_tokens"),
            model=_clean_text(about.get("model_name")) or chat.model,
            finish=next(
                (text for name in _FINISHES if (text := _clean_text(about.get(name)))), None
            ),
        )
    except StageError:
        raise
    except _UNREADABLE as error:
        raise StageError(f"its reply cannot be read: {describe_error(error)}") from None
    except Exception as error:  # noqa: BLE001  every provider has errors of its own
        if isinstance(error.__cause__, StageError):  # ours, which the library has wrapped
            raise error.__cause__ from None
        raise StageError(describe_error(error) + describe_wait(error)) from None


def identity(chat: ChatSettings) -> dict[str, Any]:
    """Return the URL that will be asked; None for the provider's own."""
    return {"base_url": server(chat)}


def server(chat: ChatSettings) -> str | None:
    """Return the URL that will be asked, or None for the provider's own.

    Raises:
        HarnessError: it comes from the environment, and holds a secret in its query.
    """
    if chat.base_url is not None:
        remember_login(chat.base_url)
        return chat.base_url
    variables = _SERVERS.get(_provider(chat), ())
    name = next((name for name in variables if os.environ.get(name)), "")
    url = os.environ.get(name)
    try:
        refuse_secret_in_query(url or "", f"the environment variable {name}", KEY_REMEDY)
    except ValueError as error:
        raise HarnessError(f"chat model {chat.model!r}: {error}") from None
    remember_login(url or "")
    return url


def _provider(chat: ChatSettings) -> str:
    return chat.model.partition(":")[0]


def _start_model(chat: ChatSettings) -> BaseChatModel:
    # The seed is set on each prompt: a model is started once for all samples.
    plain = replace(chat, seed=None, patience=DEFAULT_PATIENCE_SECONDS, concurrent=1)
    return _start_once(plain, server(chat), os.environ.get("OPENAI_API_KEY"))


@lru_cache
def _start_once(chat: ChatSettings, server: str | None, key: str | None) -> BaseChatModel:
    """Start a model once for each server and key: the environment may name others later."""
    try:
        from langchain.chat_models import init_chat_model
    except ModuleNotFoundError as error:
        raise MissingExtra(f"chat model {chat.model!r}", str(error.name), "openai") from None
    try:
        options = _options(chat, server, key)
        model: BaseChatModel = init_chat_model(chat.model, **options)
        known = _known_options(chat, type(model), options)
        # Some classes send on what they do not know.
        return model if known == options else init_chat_model(chat.model, **known)
    except SpecError:
        raise
    except Exception as error:  # noqa: BLE001  every provider has errors of its own
        raise HarnessError(
            f"chat model {chat.model!r} cannot be started: {describe_error(error)}\n"
            "  name it provider:model, install the provider's langchain package, and set its key"
        ) from None


def _options(chat: ChatSettings, server: str | None, key: str | None) -> dict[str, Any]:
    """Return the settings by the names that the provider's class has for them."""
    options: dict[str, Any] = {} if chat.base_url is None else {"base_url": chat.base_url}
    options["temperature"] = chat.temperature
    if _provider(chat) == "ollama":
        options |= {"num_predict": chat.max_tokens, "client_kwargs": {"timeout": chat.timeout}}
        return options
    options |= {"max_tokens": chat.max_tokens, "timeout": chat.timeout}
    options["max_retries"] = chat.retries
    if _provider(chat) in _OF_OPENAI:
        options["http_client"] = openai_client.bounded_client(chat.timeout)
    if _provider(chat) == "openai" and server is not None:
        if not key:
            options["api_key"] = "none"  # the library wants one, and a server of one's own may not
        if not (urlsplit(server).hostname or "").endswith(_STRICT):
            options["extra_body"] = {"max_tokens": chat.max_tokens}
    return options


def _known_options(
    chat: ChatSettings, kind: type[BaseChatModel], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options that a class takes; the others are for settings nobody asked for.

    Raises:
        SpecError: one of the others was asked for.
    """
    accepted, plain = _accepted_options(kind), ChatSettings(chat.model)
    unknown = {name for name in options if name in _SETTINGS and name not in accepted}
    for setting in filter(None, map(_SETTINGS.get, unknown)):
        if getattr(chat, setting) != getattr(plain, setting):
            raise SpecError(
                f"chat model {chat.model!r}: {kind.__name__} takes no `{setting}`",
                f"leave `{setting}` out, or reach the model by another provider",
            )
    return {name: value for name, value in options.items() if name not in unknown}


def _accepted_options(kind: type[BaseChatModel]) -> list[Any]:
    """Return the options that a class takes, by all their names."""
    accepted: list[Any] = []
    for field, info in kind.model_fields.items():
        accepted += [field, info.alias, info.validation_alias]
        accepted += getattr(info.validation_alias, "choices", ())
    return accepted


class _Limit:
    """The requests under way at one server, which all chat models share that ask it."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._running = 0

    @contextmanager
    def one(self, most: int) -> Iterator[None]:
        """Wait until fewer than `most` are under way, and be one of them."""
        with self._changed:
            self._changed.wait_for(lambda: self._running < most)
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()


_LIMITS: dict[str, _Limit] = {}


def _limit(chat: ChatSettings) -> _Limit:
    return _LIMITS.setdefault(server(chat) or _provider(chat), _Limit())


def _clean_text(value: object) -> str | None:
    """Return a text of a reply, without the secrets that a server may have put into it."""
    return replace_unencodable(redact(value)) if isinstance(value, str) else None
