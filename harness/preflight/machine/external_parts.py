"""Lists the models, servers and user code that a configuration uses, with their users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from harness.chunkers import hit_chunker
from harness.config.run_config import RunConfig
from harness.config.settings import Settings
from harness.embedders import embedders
from harness.metrics import named_metrics
from harness.models.chat import ChatModel
from harness.models.chat.hosted_chat import server
from harness.models.model_files import DEFAULT_MODEL
from harness.protocols import Embedder

_CHROMA_CLOUD_URL = "https://api.trychroma.com"
_LOCAL_HOSTS = ("localhost", "127.", "::1")


@dataclass(frozen=True)
class AskedServer:
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
    def is_local(self) -> bool:
        """Whether it is on this machine."""
        return self.host.startswith(_LOCAL_HOSTS)


def list_parts(config: RunConfig) -> Iterator[Any]:
    """Yield each part once: components, the parts inside them, metrics and systems."""
    parts: dict[Any, None] = {}
    for cell in config.cells:
        components = [
            cell.chunker,
            hit_chunker(cell.chunker),
            cell.embedder,
            cell.reranker,
            cell.generator,
        ]
        parts |= dict.fromkeys([*components, *_nested_parts(cell.retriever)])
    for entry in config.metrics:
        parts |= dict.fromkeys(named_metrics.leaf_metrics(entry.metric, config.settings.labels))
    parts |= dict.fromkeys(cell.system for cell in config.systems)
    yield from (part for part in parts if part is not None)


def _nested_parts(retriever: Any) -> Iterator[Any]:
    yield retriever
    for part in getattr(retriever, "parts", list)():
        yield from _nested_parts(part)


def used_embedders(config: RunConfig) -> list[Embedder]:
    """Return the embedders of the grid, and those that chunkers and rerankers name."""
    used = [cell.embedder for cell in config.cells if cell.embedder is not None]
    names = [getattr(part, "embedder", None) for part in list_parts(config)]
    return list(dict.fromkeys([*used, *(embedders.build(e) for e in names if isinstance(e, str))]))


def encoders(config: RunConfig | None) -> dict[str, str]:
    """Return the encoders that run in this process, by name or folder, with what uses each."""
    if config is None:
        return {DEFAULT_MODEL: "the default embedder"}
    users: dict[str, str] = {}
    for part in [*used_embedders(config), *list_parts(config)]:
        for key in ("model", "tokenizer"):
            model = getattr(part, key, None)
            if isinstance(model, str) and not _is_chat_part(part):
                users.setdefault(model, part.name)
    return users


def chat_models(config: RunConfig) -> dict[ChatModel, str]:
    """Return the chat models that a run asks, with what asks each."""
    users: dict[ChatModel, str] = {}
    for part in list_parts(config):
        get_model = getattr(part, "asked_model", None)
        chat = get_model() if get_model is not None else getattr(part, "judge", None)
        if isinstance(chat, ChatModel):
            users.setdefault(chat, part.name)
    return users


def code_names(config: RunConfig) -> dict[str, str]:
    """Return what is named of other packages, and of the user's, with what names each."""
    users: dict[str, str] = {}
    for part in [*used_embedders(config), *list_parts(config)]:
        name = getattr(part, "cls", None) or code_of(part)
        if isinstance(name, str):
            users.setdefault(name, part.name)
    return users


def code_of(part: Any) -> str | None:
    """Return the dotted name of the user's own code that a system is; None for any other."""
    name = getattr(part, "function", None) or getattr(part, "object", None)
    return name if isinstance(name, str) else None


def servers(config: RunConfig) -> list[AskedServer]:
    """Return the URLs that a run would ask and that are known: not those of hosted providers."""
    result = [
        AskedServer(url, f"chat model {chat.shown!r}")
        for chat in chat_models(config)
        if chat.file is None and (url := server(chat))
    ]
    result += [
        AskedServer(cell.system.url, f"system {cell.name}")
        for cell in config.systems
        if hasattr(cell.system, "url")
    ]
    return result


def chroma_server(settings: Settings) -> AskedServer | None:
    """Return the server of the index; None for a folder."""
    existing = settings.index.existing
    remote = settings.index.remote if existing is None else existing.remote
    if remote is None:
        return None
    return AskedServer(getattr(remote, "url", _CHROMA_CLOUD_URL), "the index")


def _is_chat_part(part: Any) -> bool:
    """Return whether a part's `model` names a chat model, and no encoder."""
    return hasattr(part, "asked_model") or hasattr(part, "judge")
