"""Network: what of a run would leave this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.config.run_config import RunConfig
from harness.errors import ModelError
from harness.models import model_files
from harness.models.chat.hosted_chat import server
from harness.preflight.machine import Fact, checks, external_parts
from harness.preflight.machine.models import is_offline

_TRACING = (
    "LANGSMITH_TRACING",
    "LANGSMITH_TRACING_V2",
    "LANGCHAIN_TRACING",
    "LANGCHAIN_TRACING_V2",
)
"""Set to true, each makes LangChain send prompts and replies to a service."""


@checks.register
@dataclass(frozen=True)
class Network:
    """Names what leaves this machine, and where it goes; none of it is a problem in itself."""

    name: ClassVar[str] = "network"
    order: ClassVar[int] = 60

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield what uses a network, or that nothing does, and whether libraries report home."""
        used = list(dict.fromkeys(_list_uses(config)))
        for text in used:
            yield Fact("ok", text)
        if not used:
            yield Fact("ok", "nothing uses a network")
        enabled = [name for name in _TRACING if os.environ.get(name, "").lower() in ("true", "1")]
        if enabled:
            message = (
                f"{', '.join(enabled)}: LangChain sends what models are asked and say to a service"
            )
            yield Fact("warning", message, f"unset {' '.join(enabled)}")
        else:
            yield Fact(
                "ok", "Chroma's and OpenVINO's telemetry is off in every run, tracing not on"
            )


def _list_uses(config: RunConfig | None) -> Iterator[str]:
    for model, by in external_parts.encoders(config).items():
        if not is_offline() and not _is_here(model):
            yield f"the files of {model} ({by}) come from the Hugging Face hub"
    if config is None:
        return
    for chat in external_parts.chat_models(config):
        if chat.file is None and server(chat) is None:
            yield f"questions and contexts go to chat model {chat.shown!r}"
    for asked_server in external_parts.servers(config):
        if not asked_server.is_local:
            yield f"questions go to {asked_server.shown} ({asked_server.by})"
    for name, by in external_parts.code_names(config).items():
        yield f"{by} {name!r}: where it sends texts is not known"
    index = external_parts.chroma_server(config.settings)
    if index is not None and not index.is_local:
        yield f"vectors go to Chroma at {index.shown}"


def _is_here(model: str) -> bool:
    try:
        return model_files.is_here(model)
    except ModelError:
        return True  # it is here, and damaged
