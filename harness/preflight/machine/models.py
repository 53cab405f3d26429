"""Models: whether every file that a run reads is on this machine, and sound."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.config.run_config import RunConfig
from harness.errors import ModelError
from harness.files.requirements import install_command
from harness.models import model_files
from harness.models.chat import ChatModel
from harness.preflight.machine import Fact, checks, external_parts

_GGUF = b"GGUF"
_STATIC = {"wordllama": "static", "model2vec": "static"}
"""Embedders that need a library of an extra, which goes by their own name."""


@checks.register
@dataclass(frozen=True)
class Models:
    """Looks for encoders and GGUF files, and asks no hub for them."""

    name: ClassVar[str] = "models"
    order: ClassVar[int] = 40

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield a fact of each model."""
        for model, by in external_parts.encoders(config).items():
            yield check_encoder(model, by)
        if config is None:
            return
        for part in external_parts.used_embedders(config):
            extra = _STATIC.get(part.name)
            if extra is not None and importlib.util.find_spec(part.name) is None:
                pip = install_command(extra)
                yield Fact("problem", f"embedder {part.name!r} needs {part.name}", pip)
        for chat in external_parts.chat_models(config):
            if chat.file is not None:
                yield from _check_gguf_file(chat, Path(chat.file))


def check_encoder(model: str, by: str) -> Fact:
    """Return whether an encoder is here; the one that is packaged is held to its checksum."""
    try:
        if model_files.is_here(model):
            model_files.locate(model)
            return Fact("ok", f"{model} ({by}) is here")
    except ModelError as error:
        message, _, remedy = str(error).partition("\n  ")
        return Fact("problem", f"{model} ({by}): {message}", " ".join(remedy.split()))
    hub = "the Hugging Face hub"
    if model.startswith((".", "/")) or model.count("/") > 1:
        return Fact("problem", f"{model} ({by}): there is no such folder", "correct the path")
    if is_offline():
        message = f"{model} ({by}) is not here, and HF_HUB_OFFLINE keeps it from {hub}"
        return Fact("problem", message, "name a folder that holds it, or fetch it beforehand")
    message = f"{model} ({by}) is not here: a run would fetch it from {hub}"
    return Fact(
        "warning", message, "run once where there is a network, or name a folder that holds it"
    )


def is_offline() -> bool:
    """Return whether the environment keeps the hub from being asked."""
    return os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")


def _check_gguf_file(chat: ChatModel, path: Path) -> Iterator[Fact]:
    if importlib.util.find_spec("xllamacpp") is None:
        yield Fact(
            "problem", f"chat model {chat.shown!r} needs xllamacpp", install_command("local-llm")
        )
    try:
        with path.open("rb") as file:
            start = file.read(len(_GGUF))
        size = path.stat().st_size
    except OSError as error:
        message = f"chat model {chat.shown!r}: the file cannot be read: {error.strerror}"
        yield Fact("problem", message, "correct the path")
        return
    if start != _GGUF:
        message = f"chat model {chat.shown!r}: the file is no GGUF file"
        yield Fact("problem", message, "name another, or fetch it again")
    else:
        yield Fact("ok", f"chat model {chat.shown!r} is here, {size / 1e9:.2f} GB")
