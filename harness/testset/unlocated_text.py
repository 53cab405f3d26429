"""Find in the whole corpus a text whose document nobody named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.corpus import Corpus
from harness.records import Span
from harness.text.normal_form import normalise
from harness.text.quotes import Located, locate


def find_spans(texts: Iterable[str], corpus: Corpus) -> Mapping[str, list[Span]]:
    """Return every place of each text, in any document; an empty list where it has none.

    A text is found to the letter, or where it is so nowhere, with letter case and white space
    ignored.
    """
    words_by_text = {text: _fold(text) for text in texts}
    places_of: dict[str, list[tuple[str, Located]]] = {text: [] for text in words_by_text}
    for document in corpus.documents.values():
        folded = _fold(document.text)
        for text, words in words_by_text.items():
            if words and words in folded:
                located = locate(normalise(text).strip(), document.text)
                if located is not None:
                    places_of[text].append((document.id, located))
    return {text: _strictest_spans(places) for text, places in places_of.items()}


def _fold(text: str) -> str:
    return " ".join(normalise(text).casefold().split())


def _strictest_spans(places: list[tuple[str, Located]]) -> list[Span]:
    ways = {located.how for _, located in places}
    how = "exact" if "exact" in ways else "folded" if "folded" in ways else "fuzzy"
    return [
        Span(doc, start, end)
        for doc, located in places
        if located.how == how
        for start, end in located.places
    ]
