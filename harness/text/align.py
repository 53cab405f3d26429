"""Align texts with a corpus: find the document and the offsets that a copied passage comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from harness.records import Document, Span
from harness.text.spans import locate
from harness.text.words import normalise

How = Literal["exact", "spacing", "fuzzy"]
"""To the letter; with letter case and white space ignored; nearly."""

_GRAM_STEPS = (1, 2, 4, 8)
"""Sixteen characters make a gram, and the least of sixteen grams is kept: so 31 visible characters
in a row that two texts have in common are sure to leave a mark in both."""
_MAX_FUZZY_CHARS = 5_000
"""The longest text that is compared nearly, and not only found as it is."""
_MAX_FUZZY_DOCUMENTS = 3
"""Documents that a text is compared with nearly: those that share most with it."""
_PART_BREAK = re.compile(r"\n(?:[ \t]*(?:[-=*_]{3,})?[ \t]*\n)+")
_HOW_ORDER: Sequence[How] = ("exact", "spacing", "fuzzy")
_Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Match:
    """The place of a text in a corpus, and how it was recognised there."""

    span: Span
    how: How


@dataclass
class MatchCounts:
    """How many texts were found, and how; `example` is the first that was not."""

    contexts: int = 0
    exact: int = 0
    spacing: int = 0
    fuzzy: int = 0
    unmatched: int = 0
    repeated: int = 0
    example: str | None = None

    def add(self, places: Sequence[Match | str], text: str, question: str) -> None:
        """Count one text; where it was taken apart, by the part that was found least well."""
        self.contexts += 1
        if all(isinstance(place, Match) for place in places):
            worst = max(
                (place.how for place in places if isinstance(place, Match)), key=_HOW_ORDER.index
            )
            setattr(self, worst, getattr(self, worst) + 1)
            return
        self.unmatched += 1
        if self.example is None:
            excerpt = " ".join(text.split()) or "a document that the corpus lacks"
            excerpt = excerpt if len(excerpt) <= 60 else f"{excerpt[:59]}…"
            self.example = f"{excerpt!r} (question {question!r})"


class CorpusMatcher:
    """Finds texts in documents, by their ids and an index of what the documents say.

    The index is made when it is first needed. It takes some 3 bytes for each character.
    """

    def __init__(self, documents: Mapping[str, Document]) -> None:
        self._documents = documents
        self._match_by_key: dict[tuple[str, str | None, int | None], Match | None] = {}

    def find_document(self, name: str) -> str | None:
        """Return the id of the document that goes by `name`; None where it is not clear which.

        A name is an id, a path or URL that ends in one, or a file name that is in one id alone,
        with or without its ending.
        """
        if name in self._documents:
            return name
        parts = PurePosixPath(name.replace("\\", "/")).parts
        tails = ("/".join(parts[start:]) for start in range(1, len(parts)))
        whole = next((tail for tail in tails if tail in self._documents), None)
        if whole is not None or not parts:
            return whole
        return self._by_name.get(parts[-1]) or self._by_name.get(PurePosixPath(parts[-1]).stem)

    def text(self, span: Span) -> str:
        """Return the text at a place."""
        return self._text(span.doc)[span.start : span.end]

    def length(self, doc: str) -> int:
        """Return how many characters a document has."""
        return len(self._text(doc))

    def find(self, text: str, doc: str | None = None, start: int | None = None) -> Match | None:
        """Return where `text` stands, by the strictest way that finds it; None where none does.

        Of several places that in `doc` comes first, there the one nearest to `start`; then the
        first of the corpus.
        """
        text = normalise(text).strip()
        key = (text, doc, start)
        if key not in self._match_by_key:
            self._match_by_key[key] = self._find_match(text, doc, start) if text else None
        return self._match_by_key[key]

    def find_parts(self, text: str, doc: str | None = None) -> list[Match | str]:
        """Return the places of a text that others joined of several, in order.

        It is taken apart at blank lines and rules; neighbours that are neighbours in their document
        too are one place. What is found nowhere is returned as it is.
        """
        result: list[Match | str] = []
        for part in filter(str.strip, _PART_BREAK.split(normalise(text))):
            last = result[-1] if result else None
            near = last.span.doc if isinstance(last, Match) else doc
            place = self.find(part, near) or part
            if (
                isinstance(last, Match)
                and isinstance(place, Match)
                and self._are_adjacent(last, place)
            ):
                span = Span(last.span.doc, last.span.start, place.span.end)
                result[-1] = Match(span, max(last.how, place.how, key=_HOW_ORDER.index))
            else:
                result.append(place)
        return result

    def _are_adjacent(self, one: Match, other: Match) -> bool:
        if one.span.doc != other.span.doc or other.span.start < one.span.end:
            return False
        between = self._documents[one.span.doc].text[one.span.end : other.span.start]
        return not between.strip("-=*_ \t\n")

    def _find_match(self, text: str, doc: str | None, start: int | None) -> Match | None:
        named_ids, near = [] if doc is None or doc not in self._documents else [doc], start or 0
        marks = _winnow(text)
        if not len(marks):
            # Too short to leave a mark: it is looked for to the letter, everywhere.
            here = self._find_exact(text, named_ids, near) or self._find_folded(
                text, named_ids, near
            )
            return here or self._find_exact(text, self._ids)
        shared, counts = self._count_sharing(marks)
        holding = [self._ids[number] for number in shared[counts == len(marks)]]
        match = (
            self._find_exact(text, named_ids, near)
            or self._find_folded(text, named_ids, near)
            or self._find_exact(text, holding)
            or self._find_folded(text, holding)
        )
        if match is not None or len(text) > _MAX_FUZZY_CHARS:
            return match
        likeliest = shared[np.argsort(-counts, kind="stable")][:_MAX_FUZZY_DOCUMENTS]
        return self._find_fuzzy(text, [*named_ids, *(self._ids[number] for number in likeliest)])

    def _find_exact(self, text: str, ids: Sequence[str], near: int = 0) -> Match | None:
        for id_ in ids:
            whole = self._text(id_)
            both = whole.rfind(text, 0, near + len(text)), whole.find(text, near)
            starts = [start for start in both if start >= 0]
            if starts:
                nearest = min(starts, key=lambda start: abs(start - near))
                return Match(Span(id_, nearest, nearest + len(text)), "exact")
        return None

    def _find_folded(self, text: str, ids: Sequence[str], near: int = 0) -> Match | None:
        words = re.compile(r"\s+".join(map(re.escape, text.split())), re.IGNORECASE)
        for id_ in ids:
            spans = (match.span() for match in words.finditer(self._text(id_)))
            nearest = min(spans, key=lambda span: abs(span[0] - near), default=None)
            if nearest is not None:
                return Match(Span(id_, *nearest), "spacing")
        return None

    def _find_fuzzy(self, text: str, ids: Sequence[str]) -> Match | None:
        for id_ in dict.fromkeys(ids):
            located = locate(text, self._text(id_))
            if located is not None:
                return Match(Span(id_, *located.places[0]), "fuzzy")
        return None

    def _text(self, id_: str) -> str:
        return self._documents[id_].text

    @cached_property
    def _ids(self) -> list[str]:
        return list(self._documents)

    @cached_property
    def _by_name(self) -> dict[str, str | None]:
        """The id that a file name, or one without its ending, is part of; None for several."""
        id_by_name: dict[str, str | None] = {}
        for id_ in self._ids:
            path = PurePosixPath(id_)
            for name in {path.name, path.stem}:
                id_by_name[name] = None if name in id_by_name else id_
        return id_by_name

    @cached_property
    def _index(self) -> tuple[_Hashes, npt.NDArray[np.int32]]:
        """The marks of all documents, sorted, and the number of the document that each is of."""
        marks = [_winnow(document.text) for document in self._documents.values()]
        sizes = [len(row) for row in marks]
        numbers = np.repeat(np.arange(len(marks), dtype=np.int32), sizes)
        joined = np.concatenate(marks) if marks else np.empty(0, np.uint64)
        order = np.argsort(joined, kind="stable")
        return joined[order], numbers[order]

    def _count_sharing(self, marks: _Hashes) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the numbers of the documents that share a mark, and how many each shares."""
        all_marks, numbers = self._index
        starts, ends = (
            np.searchsorted(all_marks, marks, "left"),
            np.searchsorted(all_marks, marks, "right"),
        )
        runs = [numbers[start:end] for start, end in zip(starts, ends, strict=True)]
        shared, counts = np.unique(np.concatenate(runs), return_counts=True)
        return shared, counts


def _winnow(text: str) -> _Hashes:
    """Return the hashes that tell of a text, each once: of its visible characters, case ignored.

    Winnowing: Schleimer, Wilkerson & Aiken, "Winnowing: Local Algorithms for Document
    Fingerprinting", SIGMOD 2003.
    """
    visible = "".join(text.casefold().split())
    codes = np.frombuffer(visible.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    if len(codes) < sum(_GRAM_STEPS) * 2 + 1:
        return np.empty(0, np.uint64)
    grams = codes.astype(np.uint64)
    for step in _GRAM_STEPS:
        factor = np.uint64(pow(0x9E3779B97F4A7C15, step, 1 << 64))
        grams = grams[:-step] * factor + grams[step:]
    # Grams that begin alike would else be near each other, and the least of them always the same.
    grams = (grams ^ (grams >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    grams ^= grams >> np.uint64(32)
    for step in _GRAM_STEPS:
        grams = np.minimum(grams[:-step], grams[step:])
    return np.unique(grams)
