"""Where in the corpus a text stands whose document nobody named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.corpus import Corpus, normalised
from harness.locate import Located, locate
from harness.records import Span


def find(texts: Iterable[str], corpus: Corpus) -> Mapping[str, list[Span]]:
    """Return every place of each text, in any document; an empty list where it has none.

    A text is found to the letter, or where it is so nowhere, with letter case and white space
    ignored.
    """
    wanted = {text: _folded(text) for text in texts}
    found: dict[str, list[tuple[str, Located]]] = {text: [] for text in wanted}
    for document in corpus.documents.values():
        folded = _folded(document.text)
        for text, words in wanted.items():
            if words and words in folded:
                located = locate(normalised(text).strip(), document.text)
                if located is not None:
                    found[text].append((document.id, located))
    return {text: _strictest(places) for text, places in found.items()}


def _folded(text: str) -> str:
    return " ".join(normalised(text).casefold().split())


def _strictest(found: list[tuple[str, Located]]) -> list[Span]:
    ways = {located.how for _, located in found}
    how = "exact" if "exact" in ways else "folded" if "folded" in ways else "fuzzy"
    return [
        Span(doc, start, end)
        for doc, located in found
        if located.how == how
        for start, end in located.places
    ]
