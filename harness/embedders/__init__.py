"""Embedders: each turns texts into unit vectors. Add one by adding a file here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from harness.registry import Registry, label

Kind = Literal["document", "query"]
"""What a text is: many models embed a question otherwise than a passage."""

Vectors = NDArray[np.float32]
"""One row a text, each of length 1."""


class Embedder(Protocol):
    """What every file in this package provides."""

    name: ClassVar[str]
    version: ClassVar[int]
    floor: ClassVar[bool]
    """True for one that is only there to be beaten; it is never recommended."""
    kept: ClassVar[bool]
    """Whether a vector costs more to make than to look up, so that the cache keeps it."""

    @property
    def tokenizer(self) -> str | None:
        """The model whose tokens this embedder reads; None where it has no tokenizer."""
        ...

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return one unit vector a text; each is the same whatever else is in `texts`."""
        ...

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return of each text whether it is longer than the model reads."""
        ...

    def identity(self) -> dict[str, Any]:
        """Return what shaped the vectors, the model's weights included.

        Raises:
            ModelError: the model cannot be found.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Return what runs the model, for the record: JSON values; empty without a model."""
        ...

    def warnings(self) -> list[str]:
        """Return what a reader of its scores should know, a line each; empty for most."""
        ...


@runtime_checkable
class Shortens(Protocol):
    """An embedder whose vectors are made from longer ones, which several of them share."""

    def whole(self) -> Embedder:
        """Return the embedder of the longer vectors; itself or one like it."""
        ...

    def shorten(self, vectors: Vectors) -> Vectors:
        """Return this embedder's vectors, made from the longer ones row by row."""
        ...


embedders: Registry[Embedder] = Registry("embedder", __name__)


def _named(spec: Any) -> Any:
    """Return the name of an embedder that may be given in any of the forms of YAML."""
    component = embedders.build(spec)
    return label(component) if isinstance(spec, Mapping) else spec


Name = Annotated[str, BeforeValidator(_named, json_schema_input_type=str | dict[str, Any])]
"""An embedder as a parameter of another component: `embedders.build` makes it."""
