"""Hosted models and servers: keys are set, packages there, and a socket answers."""

from __future__ import annotations

import importlib.util
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness import index
from harness.chat import ChatModel
from harness.chat.hosted import server
from harness.config import RunConfig
from harness.doctor import Fact, checks, parts
from harness.doctor.parts import Server
from harness.errors import HarnessError
from harness.sweep import SystemCell

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
_PATIENCE = 3.0
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
        for chat in parts.chats(config):
            if chat.file is None:
                yield from _chat(chat)
        for named, by in parts.classes(config).items():
            yield _code(named, by)
        for each in config.systems:
            # A user's module is not imported: it may do anything.
            if not parts.code_of(each.system):
                yield from _system(each)
        for each_server in dict.fromkeys(parts.servers(config)):
            yield answers(each_server)
        if parts.chroma(config.settings) is not None:
            yield _chroma(config)


def answers(there: Server) -> Fact:
    """Return whether somebody listens where a URL leads."""
    try:
        with socket.create_connection((there.host, there.port), _PATIENCE):
            return Fact("ok", f"{there.by}: {there.shown} answers")
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        what = f"{there.by}: {there.shown} does not answer: {why}"
        return Fact("problem", what, "start the server, or correct its URL")


def _code(named: str, by: str) -> Fact:
    """Return whether the package of a class or function is there; it is not imported."""
    package = named.replace(":", ".").partition(".")[0]
    if importlib.util.find_spec(package) is None:
        what = f"{by}: {named!r} is in no package that is installed, nor beside the configuration"
        return Fact("problem", what, "correct the name, or install the package that holds it")
    return Fact("ok", f"{by}: {package} is there; which key it needs is not known here")


def _system(cell: SystemCell) -> Iterator[Fact]:
    try:
        cell.system.check()
    except HarnessError as error:
        what, _, remedy = str(error).partition("\n")
        yield Fact("problem", what, remedy.strip())


def _chat(chat: ChatModel) -> Iterator[Fact]:
    provider, named, _ = chat.model.partition(":")
    provider = provider if named else "openai"
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
        what = f"chat model {chat.shown!r}: the environment variable {key} is not set"
        yield Fact("problem", what, f"run it as: {key}=... python -m harness ...")


def _chroma(config: RunConfig) -> Fact:
    try:
        index.check(config.settings.index)
    except HarnessError as error:
        what, _, remedy = str(error).partition("\n")
        return Fact("problem", what, remedy.strip())
    where = parts.chroma(config.settings)
    assert where is not None
    return Fact("ok", f"Chroma at {where.shown} answers")
