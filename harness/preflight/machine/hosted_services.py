"""Hosted models and servers: keys are set, packages there, and a socket answers."""

from __future__ import annotations

import importlib.util
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness import index
from harness.config.grid import SystemCell
from harness.config.run_config import RunConfig
from harness.errors import HarnessError
from harness.models.chat import ChatModel
from harness.models.chat.hosted_chat import server
from harness.preflight.machine import Fact, checks, external_parts
from harness.preflight.machine.external_parts import AskedServer

_KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "azure_openai": "AZURE_OPENAI_API_KEY",
    "cohere": "COHERE_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "fireworks": "FIREWORKS_API_KEY",
    "google_genai": "GOOGLE_API_KEY",
    "groq": "GROQ_API_KEY",
    "huggingface": "HUGGINGFACEHUB_API_TOKEN",
    "mistralai": "MISTRAL_API_KEY",
    "nvidia": "NVIDIA_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "perplexity": "PPLX_API_KEY",
    "together": "TOGETHER_API_KEY",
    "xai": "XAI_API_KEY",
}
"""The environment variable that the library of each provider reads."""
_PACKAGES = {"azure_openai": "langchain_openai"}
_TIMEOUT_SECONDS = 3.0
"""Seconds that a server is waited for."""


@checks.register
@dataclass(frozen=True)
class Hosted:
    """Looks up what hosted models need, and connects to the servers that are named.

    A connection is opened and closed again: nothing is asked, so that nothing is paid for.
    """

    name: ClassVar[str] = "servers"
    order: ClassVar[int] = 50

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield a fact of each hosted model, each server and the index, where that is a server."""
        if config is None:
            return
        for chat in external_parts.chat_models(config):
            if chat.file is None:
                yield from _check_chat_model(chat)
        for name, by in external_parts.code_names(config).items():
            yield _check_package(name, by)
        for cell in config.systems:
            # A user's module is not imported: it may do anything.
            if not external_parts.code_of(cell.system):
                yield from _check_system(cell)
        for asked_server in dict.fromkeys(external_parts.servers(config)):
            yield check_server(asked_server)
        if external_parts.chroma_server(config.settings) is not None:
            yield _check_chroma(config)


def check_server(asked_server: AskedServer) -> Fact:
    """Return whether somebody listens where a URL leads."""
    try:
        with socket.create_connection((asked_server.host, asked_server.port), _TIMEOUT_SECONDS):
            return Fact("ok", f"{asked_server.by}: {asked_server.shown} answers")
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        message = f"{asked_server.by}: {asked_server.shown} does not answer: {why}"
        return Fact("problem", message, "start the server, or correct its URL")


def _check_package(name: str, by: str) -> Fact:
    """Return whether the package of a class or function is there; it is not imported."""
    package = name.replace(":", ".").partition(".")[0]
    if importlib.util.find_spec(package) is None:
        message = f"{by}: {name!r} is in no package that is installed, nor beside the configuration"
        return Fact("problem", message, "correct the name, or install the package that holds it")
    return Fact("ok", f"{by}: {package} is there; which key it needs is not known here")


def _check_system(cell: SystemCell) -> Iterator[Fact]:
    try:
        cell.system.check()
    except HarnessError as error:
        message, _, remedy = str(error).partition("\n")
        yield Fact("problem", message, remedy.strip())


def _check_chat_model(chat: ChatModel) -> Iterator[Fact]:
    provider = chat.model.partition(":")[0]
    package = _PACKAGES.get(provider, f"langchain_{provider}")
    if importlib.util.find_spec(package) is None:
        pip = package.replace("_", "-")
        yield Fact("problem", f"chat model {chat.shown!r} needs {pip}", f"pip install {pip}")
    key, url = _KEYS.get(provider), server(chat)
    if key is None:
        yield Fact("ok", f"chat model {chat.shown!r}: which key it needs is not known here")
    elif os.environ.get(key):
        yield Fact("ok", f"chat model {chat.shown!r}: {key} is set")
    elif provider == "openai" and url is not None:
        yield Fact("ok", f"chat model {chat.shown!r}: {key} is not set, and a server may need none")
    else:
        message = f"chat model {chat.shown!r}: the environment variable {key} is not set"
        yield Fact("problem", message, f"run it as: {key}=... python -m harness ...")


def _check_chroma(config: RunConfig) -> Fact:
    try:
        index.check(config.settings.index)
    except HarnessError as error:
        message, _, remedy = str(error).partition("\n")
        return Fact("problem", message, remedy.strip())
    where = external_parts.chroma_server(config.settings)
    assert where is not None
    return Fact("ok", f"Chroma at {where.shown} answers")
