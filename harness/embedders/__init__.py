"""Embedders: each turns texts into unit vectors. Add one by adding a file here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from harness.errors import ModelError
from harness.protocols import Embedder, TextKind, Vectors
from harness.registry import Registry, label, spec_name

_MAX_LENGTH_ERROR = 1e-3
"""How far from 1 the length of a vector may be."""


class _Held(Embedder):
    """Checks the vectors that an embedder from outside the package gives."""

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return the vectors; raise `ModelError` for what are none."""
        name, given = f"embedder {spec_name(self)!r}", super().embed(texts, kind)  # type: ignore[safe-super]
        try:
            vectors: Vectors = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError):
            vectors = np.empty(0, dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            shape = f"an array of {vectors.shape}" if vectors.size else f"{given!r:.60}"
            raise ModelError(
                f"{name} gave {shape}, and promises a row of numbers for each of {len(texts)} texts"
            )
        lengths = np.linalg.norm(vectors, axis=1)
        wrong = lengths[~(np.abs(lengths - 1) <= _MAX_LENGTH_ERROR)]
        if wrong.size:
            message = f"gave a vector of length {wrong[0]:.6g}, and promises length 1"
            raise ModelError(f"{name} {message}\n  divide each by its length")
        return vectors


embedders: Registry[Embedder] = Registry("embedder", __name__, Embedder, held=_Held)


def _embedder_name(spec: Any) -> Any:
    """Return the name of an embedder that may be given in any of the forms of YAML."""
    component = embedders.build(spec)
    return label(component) if isinstance(spec, Mapping) else spec


Name = Annotated[str, BeforeValidator(_embedder_name, json_schema_input_type=str | dict[str, Any])]
"""An embedder as a parameter of another component: `embedders.build` makes it."""
