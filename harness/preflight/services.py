"""Models, servers and code of others that a run uses: whether they are here, and what they get.

A connection is opened and closed again: nothing is asked, so that nothing is paid for.
"""

from __future__ import annotations

import importlib.util
import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from harness import index
from harness.chunkers import hit_chunker
from harness.config.resolved import RunConfig
from harness.embedders import embedders
from harness.errors import HarnessError, ModelError, RunError
from harness.files.requirements import install_command
from harness.metrics import named_metrics
from harness.models import model_files
from harness.models.chat import ChatModel
from harness.models.chat.hosted_chat import server

_KEYS = {
    "google_genai": "GOOGLE_API_KEY",
    "huggingface": "HUGGINGFACEHUB_API_TOKEN",
    "mistralai": "MISTRAL_API_KEY",
    "perplexity": "PPLX_API_KEY",
}
"""The environment variables of providers that are not named after the provider."""
_PROVIDERS = (
    *("anthropic", "azure_openai", "cohere", "deepseek", "fireworks", "groq", "nvidia", "openai"),
    *("openrouter", "together", "xai"),
)
_TRACING = (
    "LANGSMITH_TRACING",
    "LANGSMITH_TRACING_V2",
    "LANGCHAIN_TRACING",
    "LANGCHAIN_TRACING_V2",
)
"""Set to true, each makes LangChain send prompts and replies to a service."""
_CHROMA_CLOUD_URL = "https://api.trychroma.com"
_TIMEOUT_SECONDS = 3.0

Status = Literal["ok", "warning", "problem"]
"""A problem stops a run, or makes it worthless; a warning may."""


@dataclass(frozen=True)
class Fact:
    """One thing a check of this machine saw, in plain words, and what would put it right."""

    status: Status
    text: str
    remedy: str = ""


def problem_of(error: HarnessError, place: str = "") -> Fact:
    """Return an error as a problem: its first line is the fact, the rest the remedy."""
    text, _, remedy = str(error).partition("\n")
    return Fact("problem", f"{place}{text}", " ".join(remedy.split()))


@dataclass(frozen=True)
class Server:
    """Where a run connects to, and what connects; a URL may hold a secret, so it is not kept."""

    host: str
    port: int
    user: str

    @property
    def address(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine."""
        return self.host.startswith(("localhost", "127.", "::1"))


@dataclass(frozen=True)
class Services:
    """What a run uses beside the harness: models, code and servers, each with its first user.

    `encoders` are names or folders of models that run in this process, `code` dotted names,
    `libraries` those that embedders of their name need.
    """

    encoders: dict[str, str] = field(default_factory=dict)
    chats: dict[ChatModel, str] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)
    libraries: Sequence[str] = ()
    servers: Sequence[Server] = ()
    chroma: Server | None = None

    @property
    def files(self) -> list[tuple[str, Path]]:
        """The names and the files of chat models that run in this process."""
        named = [(f"chat model {chat.shown!r}", chat.file) for chat in self.chats]
        return [(name, Path(file)) for name, file in named if file is not None]

    @property
    def hosted(self) -> list[ChatModel]:
        """The chat models that a server runs."""
        return [chat for chat in self.chats if chat.file is None]


def used_services(config: RunConfig | None) -> Services:
    """Return what a run uses; without a configuration, the default embedder."""
    if config is None:
        return Services({model_files.DEFAULT_MODEL: "the default embedder"})
    used, parts = Services(), list(dict.fromkeys(_list_parts(config)))
    for part in parts:
        get_model, judge = getattr(part, "asked_model", None), getattr(part, "judge", None)
        chat = judge if get_model is None else get_model()
        if isinstance(chat, ChatModel):
            used.chats.setdefault(chat, part.name)
        for key in ("model", "tokenizer"):
            if chat is None and isinstance(model := getattr(part, key, None), str):
                used.encoders.setdefault(model, part.name)
        for key in ("cls", "function", "object"):
            if isinstance(name := getattr(part, key, None), str):
                used.code.setdefault(name, part.name)
    urls = {server(chat): f"chat model {chat.shown!r}" for chat in used.hosted}
    urls |= {getattr(c.system, "url", None): f"system {c.name}" for c in config.systems}
    settings = config.settings.index
    remote = settings.remote if settings.existing is None else settings.existing.remote
    chroma = None if remote is None else getattr(remote, "url", _CHROMA_CLOUD_URL)
    return Services(
        used.encoders,
        used.chats,
        used.code,
        [part.name for part in parts if part.name in ("wordllama", "model2vec")],
        [_parse_url(url, user) for url, user in urls.items() if url is not None],
        None if chroma is None else _parse_url(chroma, "the index"),
    )


def _list_parts(config: RunConfig) -> Iterator[Any]:
    """Yield embedders, other components, the parts inside them, metrics and systems."""
    yield from (cell.embedder for cell in config.cells if cell.embedder is not None)
    parts: list[Any] = []
    for cell in config.cells:
        parts += [cell.chunker, hit_chunker(cell.chunker), cell.reranker, cell.generator]
        parts += _list_retrievers(cell.retriever)
    for entry in config.metrics:
        parts += named_metrics.leaf_metrics(entry.metric, config.settings.labels)
    names = (getattr(part, "embedder", None) for part in parts)
    yield from (embedders.build(name) for name in names if isinstance(name, str))
    yield from parts
    yield from (cell.system for cell in config.systems)


def _list_retrievers(retriever: Any) -> Iterator[Any]:
    yield retriever
    for part in getattr(retriever, "parts", list)():
        yield from _list_retrievers(part)


def _parse_url(url: str, user: str) -> Server:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return Server(parts.hostname or "", port, user)


def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def check_models(used: Services) -> Iterator[Fact]:
    """Yield a fact of each model whose files a run reads; no hub is asked for them."""
    for model, user in used.encoders.items():
        yield _check_encoder(f"{model} ({user})", model)
    for library in dict.fromkeys(used.libraries):
        if not _is_installed(library):
            text = f"embedder {library!r} needs {library}"
            yield Fact("problem", text, install_command("static"))
    for name, path in used.files:
        if not _is_installed("xllamacpp"):
            yield Fact("problem", f"{name} needs xllamacpp", install_command("local-llm"))
        try:
            with path.open("rb") as file:
                is_gguf = file.read(4) == b"GGUF"
        except OSError as error:
            text = f"{name}: the file cannot be read: {error.strerror}"
            yield Fact("problem", text, "correct the path")
            continue
        if is_gguf:
            yield Fact("ok", f"{name} is here, {path.stat().st_size / 1e9:.2f} GB")
        else:
            remedy = "name another, or fetch it again"
            yield Fact("problem", f"{name}: the file is no GGUF file", remedy)


def _check_encoder(name: str, model: str) -> Fact:
    """Return whether an encoder is here; the one that is packaged is held to its checksum."""
    try:
        if model_files.is_here(model):
            model_files.locate(model)
            return Fact("ok", f"{name} is here")
    except ModelError as error:
        return problem_of(error, f"{name}: ")
    if model.startswith((".", "/")) or model.count("/") > 1:
        return Fact("problem", f"{name}: there is no such folder", "correct the path")
    hub = "the Hugging Face hub"
    if _is_offline():
        text = f"{name} is not here, and HF_HUB_OFFLINE keeps it from {hub}"
        return Fact("problem", text, "name a folder that holds it, or fetch it before")
    text = f"{name} is not here: a run would fetch it from {hub}"
    remedy = "run once where there is a network, or name a folder that holds it"
    return Fact("warning", text, remedy)


def check_servers(used: Services, config: RunConfig | None) -> Iterator[Fact]:
    """Yield what hosted models, systems and the index need: keys, packages, an open socket."""
    for chat in used.hosted:
        yield from _check_hosted_model(chat)
    for name, user in used.code.items():  # not imported: a user's module may do anything
        package = name.replace(":", ".").partition(".")[0]
        if _is_installed(package):
            yield Fact("ok", f"{user}: {package} is there; which key it needs is not known here")
            continue
        text = f"{user}: {name!r} is in no package that is installed, nor beside the configuration"
        yield Fact("problem", text, "correct the name, or install the package that holds it")
    for cell in () if config is None else config.systems:
        if not hasattr(cell.system, "function") and not hasattr(cell.system, "object"):
            try:
                cell.system.check()
            except HarnessError as error:
                yield problem_of(error)
    for asked in used.servers:
        try:
            socket.create_connection((asked.host, asked.port), _TIMEOUT_SECONDS).close()
            yield Fact("ok", f"{asked.user}: {asked.address} answers")
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            text = f"{asked.user}: {asked.address} does not answer: {why}"
            yield Fact("problem", text, "start the server, or correct its URL")
    if config is not None and used.chroma is not None:
        try:
            index.check(config.settings.index)
            yield Fact("ok", f"Chroma at {used.chroma.address} answers")
        except HarnessError as error:
            yield problem_of(error)


def _check_hosted_model(chat: ChatModel) -> Iterator[Fact]:
    """Yield whether the package of a provider is installed, and its key set."""
    provider, name = chat.model.partition(":")[0], f"chat model {chat.shown!r}"
    package = "langchain_openai" if provider == "azure_openai" else f"langchain_{provider}"
    if not _is_installed(package):
        pip = package.replace("_", "-")
        yield Fact("problem", f"{name} needs {pip}", f"pip install {pip}")
    default = f"{provider.upper()}_API_KEY" if provider in _PROVIDERS else None
    key = _KEYS.get(provider, default)
    if key is None:
        yield Fact("ok", f"{name}: which key it needs is not known here")
    elif os.environ.get(key):
        yield Fact("ok", f"{name}: {key} is set")
    elif provider == "openai" and server(chat) is not None:
        yield Fact("ok", f"{name}: {key} is not set, and a server may need none")
    else:
        text = f"{name}: the environment variable {key} is not set"
        yield Fact("problem", text, f"run it as: {key}=... python -m harness ...")


def check_cluster(config: RunConfig | None) -> Iterator[Fact]:
    """Yield whether Ray is installed, and whether its address answers, where a run is to use it."""
    execution = None if config is None else config.settings.execution
    if execution is None:
        return
    if not _is_installed("ray"):
        yield Fact("problem", "Ray is not installed", install_command("ray"))
        return
    from harness.runs.cluster import find_address

    try:
        address = find_address(execution.ray)
    except RunError as error:
        yield problem_of(error)
        return
    is_local = address == "local"
    on = "a Ray that the run starts itself" if is_local else f"a Ray cluster: {address}"
    yield Fact("ok", f"work is done on {on}")


def check_network(used: Services) -> Iterator[Fact]:
    """Yield what leaves this machine and to whom, and whether libraries report home."""
    texts = [
        f"the files of {model} ({user}) come from the Hugging Face hub"
        for model, user in used.encoders.items()
        if not _is_offline() and not _is_here(model)
    ]
    texts += [
        f"questions and contexts go to chat model {chat.shown!r}"
        for chat in used.hosted
        if server(chat) is None
    ]
    texts += [
        f"questions go to {asked.address} ({asked.user})"
        for asked in used.servers
        if not asked.is_local
    ]
    texts += [
        f"{user} {name!r}: where it sends texts is not known" for name, user in used.code.items()
    ]
    if used.chroma is not None and not used.chroma.is_local:
        texts.append(f"vectors go to Chroma at {used.chroma.address}")
    for text in dict.fromkeys(texts or ["nothing uses a network"]):
        yield Fact("ok", text)
    enabled = [name for name in _TRACING if os.environ.get(name, "").lower() in ("true", "1")]
    if enabled:
        text = f"{', '.join(enabled)}: LangChain sends what models are asked and say to a service"
        yield Fact("warning", text, f"unset {' '.join(enabled)}")
    else:
        yield Fact("ok", "Chroma's and OpenVINO's telemetry is off in every run, tracing not on")


def _is_offline() -> bool:
    """Return whether the environment keeps the hub from being asked."""
    return os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")


def _is_here(model: str) -> bool:
    try:
        return model_files.is_here(model)
    except ModelError:
        return True  # it is here, and damaged
