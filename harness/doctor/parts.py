"""The parts of a configuration that run a model or ask a server, each with who uses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from harness import scoring
from harness.chat import ChatModel
from harness.chat.hosted import server
from harness.chunkers import handed
from harness.config import RunConfig
from harness.embedders import Embedder, embedders
from harness.models import DEFAULT_MODEL
from harness.settings import Settings

_CLOUD = "https://api.trychroma.com"
_LOCAL = ("localhost", "127.", "::1")


@dataclass(frozen=True)
class Server:
    """A URL that a run would ask, and what asks it."""

    url: str
    by: str

    @property
    def shown(self) -> str:
        """Host and port: nothing that a URL may hold as a secret."""
        return f"{self.host}:{self.port}"

    @property
    def host(self) -> str:
        """The host's name."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """The port, that of the scheme where the URL names none."""
        parts = urlsplit(self.url)
        return parts.port or (443 if parts.scheme == "https" else 80)

    @property
    def here(self) -> bool:
        """Whether it is on this machine."""
        return self.host.startswith(_LOCAL)


def every(config: RunConfig) -> Iterator[Any]:
    """Yield each part once: components, the parts inside them, metrics and systems."""
    found: dict[Any, None] = {}
    for cell in config.cells:
        own = [cell.chunker, handed(cell.chunker), cell.embedder, cell.reranker, cell.generator]
        found |= dict.fromkeys([*own, *_inside(cell.retriever)])
    for named in config.metrics:
        found |= dict.fromkeys(scoring.leaves(named.metric, config.settings.labels))
    found |= dict.fromkeys(each.system for each in config.systems)
    yield from (each for each in found if each is not None)


def _inside(retriever: Any) -> Iterator[Any]:
    yield retriever
    for part in getattr(retriever, "parts", list)():
        yield from _inside(part)


def used_embedders(config: RunConfig) -> list[Embedder]:
    """Return the embedders of the grid, and those that chunkers and rerankers name."""
    found = [cell.embedder for cell in config.cells if cell.embedder is not None]
    named = [getattr(part, "embedder", None) for part in every(config)]
    return list(dict.fromkeys([*found, *(embedders.build(e) for e in named if isinstance(e, str))]))


def encoders(config: RunConfig | None) -> dict[str, str]:
    """Return the encoders that run in this process, by name or folder, with what uses each."""
    if config is None:
        return {DEFAULT_MODEL: "the default embedder"}
    found: dict[str, str] = {}
    for part in [*used_embedders(config), *every(config)]:
        for key in ("model", "tokenizer"):
            model = getattr(part, key, None)
            if isinstance(model, str) and not _asks(part):
                found.setdefault(model, part.name)
    return found


def chats(config: RunConfig) -> dict[ChatModel, str]:
    """Return the chat models that a run asks, with what asks each."""
    found: dict[ChatModel, str] = {}
    for part in every(config):
        asked = getattr(part, "asked_model", None)
        chat = asked() if asked is not None else getattr(part, "judge", None)
        if isinstance(chat, ChatModel):
            found.setdefault(chat, part.name)
    return found


def classes(config: RunConfig) -> dict[str, str]:
    """Return what is named of other packages, and of the user's, with what names each."""
    found: dict[str, str] = {}
    for part in [*used_embedders(config), *every(config)]:
        named = getattr(part, "cls", None) or code_of(part)
        if isinstance(named, str):
            found.setdefault(named, part.name)
    return found


def code_of(part: Any) -> str | None:
    """Return the dotted name of the user's own code that a system is; None for any other."""
    found = getattr(part, "function", None) or getattr(part, "object", None)
    return found if isinstance(found, str) else None


def servers(config: RunConfig) -> list[Server]:
    """Return the URLs that a run would ask and that are known: not those of hosted providers."""
    found = [
        Server(url, f"chat model {chat.shown!r}")
        for chat in chats(config)
        if chat.file is None and (url := server(chat))
    ]
    found += [
        Server(each.system.url, f"system {each.name}")
        for each in config.systems
        if hasattr(each.system, "url")
    ]
    return found


def chroma(settings: Settings) -> Server | None:
    """Return the server of the index; None for a folder."""
    existing = settings.index.existing
    remote = settings.index.remote if existing is None else existing.remote
    if remote is None:
        return None
    return Server(getattr(remote, "url", _CLOUD), "the index")


def _asks(part: Any) -> bool:
    """Return whether a part's `model` names a chat model, and no encoder."""
    return hasattr(part, "asked_model") or hasattr(part, "judge")
