"""A corpus to chunks."""

from __future__ import annotations

from collections.abc import Iterator

from harness.chunkers import Chunker
from harness.corpus import Corpus
from harness.records import Chunk, Span


def cut(corpus: Corpus, chunker: Chunker) -> Iterator[Chunk]:
    """Yield every chunk of every document, numbered in the order of the documents."""
    titled = getattr(chunker, "header", "none") == "title"
    number = 0
    for document in corpus.documents.values():
        header = document.title if titled else ""
        for start, end in chunker.split(document.text):
            yield Chunk(number, Span(document.id, start, end), document.text[start:end], header)
            number += 1
