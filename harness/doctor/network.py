"""Network: what of a run would leave this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness import models
from harness.chat.hosted import server
from harness.config import RunConfig
from harness.doctor import Fact, checks, parts
from harness.doctor.models import offline
from harness.errors import ModelError

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
        used = list(dict.fromkeys(_used(config)))
        for each in used:
            yield Fact("ok", each)
        if not used:
            yield Fact("ok", "nothing uses a network")
        on = [name for name in _TRACING if os.environ.get(name, "").lower() in ("true", "1")]
        if on:
            what = f"{', '.join(on)}: LangChain sends what models are asked and say to a service"
            yield Fact("warning", what, f"unset {' '.join(on)}")
        else:
            yield Fact(
                "ok", "Chroma's and OpenVINO's telemetry is off in every run, tracing not on"
            )


def _used(config: RunConfig | None) -> Iterator[str]:
    for model, by in parts.encoders(config).items():
        if not offline() and not _here(model):
            yield f"the files of {model} ({by}) come from the Hugging Face hub"
    if config is None:
        return
    for chat in parts.chats(config):
        if chat.file is None and server(chat) is None:
            yield f"questions and contexts go to chat model {chat.shown!r}"
    for each in parts.servers(config):
        if not each.here:
            yield f"questions go to {each.shown} ({each.by})"
    for named, by in parts.classes(config).items():
        yield f"{by} {named!r}: where it sends texts is not known"
    index = parts.chroma(config.settings)
    if index is not None and not index.here:
        yield f"vectors go to Chroma at {index.shown}"


def _here(model: str) -> bool:
    try:
        return models.is_here(model)
    except ModelError:
        return True  # it is here, and damaged
