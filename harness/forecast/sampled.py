"""How many chunks a chunker makes, as some of the documents tell."""

from __future__ import annotations

from harness.chunkers import Chunker
from harness.corpus import Corpus

_READ = 300_000
"""Characters that are cut to tell."""


def about_chunks(corpus: Corpus, chunker: Chunker) -> tuple[int, bool]:
    """Return how many chunks there are, and whether that is exact: all documents were cut."""
    documents = list(corpus.documents.values())
    cut = read = chunks = 0
    step = max(1, corpus.characters // _READ + 1)
    for document in documents[::step]:
        chunks += sum(1 for _ in chunker.split(document.text))
        cut, read = cut + 1, read + len(document.text)
        if read > _READ:
            break
    if cut == len(documents):
        return chunks, True
    return round(chunks * corpus.characters / max(1, read)), False
