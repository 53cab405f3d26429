"""Chunkers: each cuts a text into spans. Add one by adding a file here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import BeforeValidator

from harness import fingerprint
from harness.embedders import Name, embedders
from harness.registry import Registry, label


def _named(parent: Any) -> Any:
    """Return the name of a parent that may be given in any of the forms of YAML."""
    if parent is None:
        return None
    built = chunkers.build(parent)
    if built.parent is not None:
        raise ValueError("it cannot have a parent of its own")
    return label(built)


def _bool_too(header: Any) -> Any:
    """Return what `true` and `false` stand for, and any other value as it is."""
    known = {"true": "headings", "True": "headings", "false": "none", "False": "none"}
    return known.get(str(header), header)


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What every chunker may be told beside its own parameters: chunkers are made of this.

    `header` is embedded before a chunk's text, and never scored: the document's title, or with
    `headings` (or `true`) the title and the Markdown headings that the chunk stands under.
    `parent`, another chunker, makes a hit of the larger chunk around the one that was found.
    """

    header: Annotated[Literal["none", "title", "headings"], BeforeValidator(_bool_too)] = "none"
    parent: Annotated[str | None, BeforeValidator(_named)] = None


@dataclass(frozen=True, kw_only=True)
class ByMeaning(Cut):
    """What chunkers share that read an embedding model: `embedder`, in any form of YAML."""

    embedder: Name = "sentence_transformer"

    def identity(self) -> dict[str, Any]:
        """Return name, version and parameters, and the identity of the embedder.

        Raises:
            ModelError: the model cannot be found.
        """
        embedder = embedders.build(self.embedder)
        return {**fingerprint.identity(self), "embedder": fingerprint.identity_of(embedder)}


class Chunker(Protocol):
    """What every file in this package provides."""

    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def header(self) -> str:
        """What is embedded before a chunk's text."""
        ...

    @property
    def parent(self) -> str | None:
        """The chunker whose chunks are handed over in the place of those that were found."""
        ...

    def split(self, text: str) -> Iterable[tuple[int, int]]:
        """Yield the `(start, end)` of each chunk, in order.

        Offsets, not strings: the caller slices, so a chunk is always a literal piece of its
        document and its place in it is never guessed at. No visible character is left out.
        """
        ...


chunkers: Registry[Chunker] = Registry("chunker", __name__)


def handed(chunker: Chunker) -> Chunker:
    """Return the chunker whose chunks are hits: the parent, or the chunker itself."""
    return chunker if chunker.parent is None else chunkers.build(chunker.parent)
