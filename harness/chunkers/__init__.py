"""Chunkers: each cuts a text into spans. Add one by adding a file here."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from harness import fingerprint
from harness.embedders import Name, embedders
from harness.errors import ModelError
from harness.protocols import Chunker
from harness.records import Document
from harness.registry import Registry, label, spec_name


def _parent_name(parent: Any) -> Any:
    """Return the name of a parent that may be given in any of the forms of YAML."""
    if parent is None:
        return None
    built = chunkers.build(parent)
    if built.name == "spans":
        raise ValueError("chunks made elsewhere may leave gaps: they cannot be around others")
    if built.parent is not None:
        raise ValueError("it cannot have a parent of its own")
    return label(built)


def _expand_bool(header: Any) -> Any:
    """Return what `true` and `false` stand for, and any other value as it is."""
    synonyms = {"true": "headings", "True": "headings", "false": "none", "False": "none"}
    return synonyms.get(str(header), header)


@dataclass(frozen=True, kw_only=True)
class ChunkerOptions(Chunker):
    """Parameters that every chunker has beside its own: ours are made of this.

    `header` is embedded before a chunk's text, and never scored: the document's title, or with
    `headings` (or `true`) the title and the Markdown headings that the chunk stands under.
    `parent`, another chunker, makes a hit of the larger chunk around the one that was found.
    """

    header: Annotated[Literal["none", "title", "headings"], BeforeValidator(_expand_bool)] = "none"
    parent: Annotated[str | None, BeforeValidator(_parent_name)] = None


@dataclass(frozen=True, kw_only=True)
class MeaningOptions(ChunkerOptions):
    """What chunkers share that read an embedding model: `embedder`, in any form of YAML."""

    embedder: Name = "sentence_transformer"

    def identity(self) -> dict[str, Any]:
        """Return name, version and parameters, and the identity of the embedder.

        Raises:
            ModelError: the model cannot be found.
        """
        embedder = embedders.build(self.embedder)
        return {**fingerprint.identity(self), "embedder": fingerprint.identity_of(embedder)}


def _find_fault(cls: Any) -> str:
    forms = {"split": Chunker.split, "split_document": Chunker.split_document}
    has_one = any(getattr(cls, name, default) is not default for name, default in forms.items())
    return "" if has_one else "it has no 'split', nor 'split_document'"


class _Held(Chunker):
    """Checks the places that a chunker from outside the package gives."""

    def split_document(self, document: Document) -> Iterator[tuple[int, int]]:
        """Yield the places; raise `ModelError` for what is none."""
        length, last = len(document.text), 0
        for place in super().split_document(document):
            try:
                start, end = map(operator.index, place)
                right = last <= start < end <= length
            except (TypeError, ValueError):
                right = False
            if not right:
                raise ModelError(
                    f"chunker {spec_name(self)!r} gave {place!r} for document {document.id!r}, "
                    "which is no (start, end) of a part of its text\n"
                    "  a chunker promises places as whole numbers, in order, none empty, up to "
                    f"{length} there"
                )
            last = start
            yield start, end


chunkers: Registry[Chunker] = Registry("chunker", __name__, Chunker, _find_fault, _Held)


def hit_chunker(chunker: Chunker) -> Chunker:
    """Return the chunker whose chunks are hits: the parent, or the chunker itself."""
    return chunker if chunker.parent is None else chunkers.build(chunker.parent)
