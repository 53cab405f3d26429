"""Embedders: each turns texts into unit vectors. Add one by adding a file here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from harness.protocols import Embedder
from harness.registry import Registry, label

embedders: Registry[Embedder] = Registry("embedder", __name__, Embedder)


def _embedder_name(spec: Any) -> Any:
    """Return the name of an embedder that may be given in any of the forms of YAML."""
    component = embedders.build(spec)
    return label(component) if isinstance(spec, Mapping) else spec


Name = Annotated[str, BeforeValidator(_embedder_name, json_schema_input_type=str | dict[str, Any])]
"""An embedder as a parameter of another component: `embedders.build` makes it."""
