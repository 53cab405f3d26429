"""What readers of a stored run look at in its configuration, and of what type that must be."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from harness.stored.strict import Whole


class _Context(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)

    chunks: Whole | None = None
    tokens: Whole | None = None


class _Resolved(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)

    chunkers: list[str | dict[str, Any]] = []
    context: _Context | None = None
    cost: list[str] | None = None
    decline_patterns: list[str] | None = None
    index: dict[str, Any] | None = None
    margin: float | None = None
    metrics: list[str | dict[str, Any]] = []
    min_overlap: float | None = None
    relevance_level: Whole = 1
    retrieve: Whole | None = None


class Configured(BaseModel):
    """A stored configuration, as far as it is read again; what else it holds is shown as it is."""

    resolved: _Resolved = _Resolved()
