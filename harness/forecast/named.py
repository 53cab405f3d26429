"""Which components are named in the cache by the files of a model."""

from __future__ import annotations

from typing import Any

from harness.asked_models import model_of

_FILES = ("cross_encoder", "langchain")
"""Rerankers that are named by a model's files, or by the user's code."""


def has_files(part: Any) -> bool:
    """Return whether the identity of a component needs the files of a model."""
    if part is None:
        return False
    chat = model_of(part)
    if chat is not None and chat.file is not None:
        return True
    if any(getattr(part, key, None) is not None for key in ("tokenizer", "embedder")):
        return True
    return bool(getattr(part, "kept", False)) or part.name in _FILES
