"""Chat backend for hosted models: any that LangChain can start by name."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from importlib import import_module
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harness.errors import HarnessError, SpecError, StageError
from harness.models import http
from harness.models.chat.settings import ChatReply, ChatSettings, replace_unencodable
from harness.models.retries import describe_wait, retrying
from harness.text.secrets import (
    KEY_REMEDY,
    describe_error,
    redact,
    refuse_secret_in_query,
    remember_login,
)

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.rate_limiters import BaseRateLimiter

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
_AS_SENT = ("content-encoding", "content-length", "transfer-encoding")
"""The headers that say how a body came, and nothing of what it is once it is unpacked."""
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the library stumbles with over a reply that is not of the form it should have."""


def check(chat: ChatSettings) -> None:
    """Start the model."""
    _start_model(chat)


def ask(chat: ChatSettings, prompt: str) -> ChatReply:
    """Ask the model; its library waits and repeats, or where it cannot, it is done here."""
    model = _start_model(chat)
    seed = next((name for name in _SEEDS if name in type(model).model_fields), None)
    seeded = model.model_copy(update={seed: chat.seed} if seed else {})
    call = partial(seeded.invoke, prompt)
    if "max_retries" not in _accepted_options(type(model)):
        call = partial(retrying(chat.retries), call)
    try:
        with _slots(server(chat) or _provider(chat), chat.concurrent):
            reply = call()
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
    plain = replace(chat, seed=None, concurrent=1)
    return _start_once(plain, server(chat), os.environ.get("OPENAI_API_KEY"))


@lru_cache
def _start_once(chat: ChatSettings, server: str | None, key: str | None) -> BaseChatModel:
    """Start a model once for each server and key: the environment may name others later."""
    from langchain.chat_models import init_chat_model

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
    if chat.per_minute:
        options["rate_limiter"] = _rate_limiter(server or _provider(chat), chat.per_minute)
    if _provider(chat) == "ollama":
        options |= {"num_predict": chat.max_tokens, "client_kwargs": {"timeout": chat.timeout}}
        return options
    options |= {"max_tokens": chat.max_tokens, "timeout": chat.timeout}
    options["max_retries"] = chat.retries
    if _provider(chat) in _OF_OPENAI:
        options["http_client"] = _bounded_client(chat.timeout)
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


@lru_cache
def _slots(server: str, concurrent: int) -> BoundedSemaphore:
    """Return the slots for requests to one server, which all chat models share that ask it."""
    return BoundedSemaphore(concurrent)


@lru_cache
def _rate_limiter(server: str, per_minute: int) -> BaseRateLimiter:
    from langchain_core.rate_limiters import InMemoryRateLimiter

    return InMemoryRateLimiter(requests_per_second=per_minute / 60, check_every_n_seconds=0.02)


def _clean_text(value: object) -> str | None:
    """Return a text of a reply, without the secrets that a server may have put into it."""
    return replace_unencodable(redact(value)) if isinstance(value, str) else None


def _bounded_client(timeout: float) -> Any:
    """Return a client of the kind that the library's own is, whichever release of httpx that is.

    Each reply is read whole before the library sees it: 10 MB at most, and one whose body is not
    there in `timeout` seconds has timed out.
    """
    return _bounded_class()(timeout=timeout, headers=http.REQUEST_HEADERS, follow_redirects=False)


def _check_text(content: bytes) -> None:
    """Raise `StageError` for a reply whose text is null, which the library takes for an empty one.

    A reply of another form is left to the library.
    """
    try:
        message = json.loads(content)["choices"][0]["message"]
        null = message["content"] is None
    except (ValueError, LookupError, TypeError):
        return
    if null:
        why = message.get("refusal")
        raise StageError(f"the reply has no text: its content is null{f' ({why})' if why else ''}")


@lru_cache(maxsize=1)
def _bounded_class() -> Any:
    from openai import DefaultHttpxClient

    library = import_module(DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])

    class Bounded(DefaultHttpxClient):
        def send(self, request: Any, **options: Any) -> Any:
            """Send a request, and return the whole reply, unpacked."""
            since = time.monotonic()
            reply: Any = super().send(request, **{**options, "stream": True})
            try:
                if reply.has_redirect_location:
                    raise StageError(http.describe_redirect(reply))
                content = http.read_content(reply, since, self.timeout.read or 0)
                _check_text(content)
            except TimeoutError as late:
                raise library.ReadTimeout(str(late), request=request) from None
            finally:
                reply.close()
            headers = [
                header for header in reply.headers.multi_items() if header[0] not in _AS_SENT
            ]
            about = {"request": reply.request, "extensions": reply.extensions}
            return type(reply)(reply.status_code, headers=headers, content=content, **about)

        def __del__(self) -> None:
            # Sockets that are left open would be warned of.
            self.close()

    return Bounded
