"""Where in a corpus a text stands that somebody else cut out of it: found by what it says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from harness.corpus import normalised
from harness.locate import locate
from harness.records import Document, Span

How = Literal["exact", "spacing", "fuzzy"]
"""To the letter; with letter case and white space ignored; nearly."""

_DOUBLINGS = (1, 2, 4, 8)
"""Sixteen characters make a gram, and the least of sixteen grams is kept: so 31 visible characters
in a row that two texts have in common are sure to leave a mark in both."""
_FUZZY = 5_000
"""The longest text that is compared nearly, and not only found as it is."""
_CANDIDATES = 3
"""Documents that a text is compared with nearly: those that share most with it."""
_BREAK = re.compile(r"\n(?:[ \t]*(?:[-=*_]{3,})?[ \t]*\n)+")
_HOWS: Sequence[How] = ("exact", "spacing", "fuzzy")
_Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Found:
    """The place of a text in a corpus, and how it was recognised there."""

    span: Span
    how: How


@dataclass
class Counts:
    """How many texts were found, and how; `example` is the first that was not."""

    contexts: int = 0
    exact: int = 0
    spacing: int = 0
    fuzzy: int = 0
    unmatched: int = 0
    repeated: int = 0
    example: str | None = None

    def add(self, places: Sequence[Found | str], text: str, question: str) -> None:
        """Count one text; where it was taken apart, by the part that was found least well."""
        self.contexts += 1
        if all(isinstance(each, Found) for each in places):
            worst = max((each.how for each in places if isinstance(each, Found)), key=_HOWS.index)
            setattr(self, worst, getattr(self, worst) + 1)
            return
        self.unmatched += 1
        if self.example is None:
            said = " ".join(text.split()) or "a document that the corpus lacks"
            said = said if len(said) <= 60 else f"{said[:59]}…"
            self.example = f"{said!r} (question {question!r})"


class Matcher:
    """Finds texts in documents, by their ids and an index of what the documents say.

    The index is made when it is first needed. It takes some 3 bytes for each character.
    """

    def __init__(self, documents: Mapping[str, Document]) -> None:
        self._documents = documents
        self._found: dict[tuple[str, str | None, int | None], Found | None] = {}

    def document(self, name: str) -> str | None:
        """Return the id of the document that goes by `name`; None where it is not clear which.

        A name is an id, a path or URL that ends in one, or a file name that is in one id alone,
        with or without its ending.
        """
        if name in self._documents:
            return name
        parts = PurePosixPath(name.replace("\\", "/")).parts
        tails = ("/".join(parts[at:]) for at in range(1, len(parts)))
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

    def find(self, text: str, doc: str | None = None, start: int | None = None) -> Found | None:
        """Return where `text` stands, by the strictest way that finds it; None where none does.

        Of several places that in `doc` comes first, there the one nearest to `start`; then the
        first of the corpus.
        """
        text = normalised(text).strip()
        key = (text, doc, start)
        if key not in self._found:
            self._found[key] = self._look(text, doc, start) if text else None
        return self._found[key]

    def parts(self, text: str, doc: str | None = None) -> list[Found | str]:
        """Return the places of a text that others joined of several, in order.

        It is taken apart at blank lines and rules; neighbours that are neighbours in their document
        too are one place. What is found nowhere is returned as it is.
        """
        found: list[Found | str] = []
        for part in filter(str.strip, _BREAK.split(normalised(text))):
            last = found[-1] if found else None
            near = last.span.doc if isinstance(last, Found) else doc
            place = self.find(part, near) or part
            if isinstance(last, Found) and isinstance(place, Found) and self._abut(last, place):
                span = Span(last.span.doc, last.span.start, place.span.end)
                found[-1] = Found(span, max(last.how, place.how, key=_HOWS.index))
            else:
                found.append(place)
        return found

    def _abut(self, one: Found, other: Found) -> bool:
        if one.span.doc != other.span.doc or other.span.start < one.span.end:
            return False
        between = self._documents[one.span.doc].text[one.span.end : other.span.start]
        return not between.strip("-=*_ \t\n")

    def _look(self, text: str, doc: str | None, start: int | None) -> Found | None:
        told, near = [] if doc is None or doc not in self._documents else [doc], start or 0
        marks = _marks(text)
        if not len(marks):
            # Too short to leave a mark: it is looked for to the letter, everywhere.
            here = self._exact(text, told, near) or self._folded(text, told, near)
            return here or self._exact(text, self._ids)
        shared, counts = self._sharing(marks)
        holding = [self._ids[at] for at in shared[counts == len(marks)]]
        found = (
            self._exact(text, told, near)
            or self._folded(text, told, near)
            or self._exact(text, holding)
            or self._folded(text, holding)
        )
        if found is not None or len(text) > _FUZZY:
            return found
        most = shared[np.argsort(-counts, kind="stable")][:_CANDIDATES]
        return self._fuzzy(text, [*told, *(self._ids[at] for at in most)])

    def _exact(self, text: str, ids: Sequence[str], near: int = 0) -> Found | None:
        for id_ in ids:
            whole = self._text(id_)
            both = whole.rfind(text, 0, near + len(text)), whole.find(text, near)
            starts = [each for each in both if each >= 0]
            if starts:
                at = min(starts, key=lambda each: abs(each - near))
                return Found(Span(id_, at, at + len(text)), "exact")
        return None

    def _folded(self, text: str, ids: Sequence[str], near: int = 0) -> Found | None:
        words = re.compile(r"\s+".join(map(re.escape, text.split())), re.IGNORECASE)
        for id_ in ids:
            spans = (match.span() for match in words.finditer(self._text(id_)))
            found = min(spans, key=lambda span: abs(span[0] - near), default=None)
            if found is not None:
                return Found(Span(id_, *found), "spacing")
        return None

    def _fuzzy(self, text: str, ids: Sequence[str]) -> Found | None:
        for id_ in dict.fromkeys(ids):
            located = locate(text, self._text(id_))
            if located is not None:
                return Found(Span(id_, *located.places[0]), "fuzzy")
        return None

    def _text(self, id_: str) -> str:
        return self._documents[id_].text

    @cached_property
    def _ids(self) -> list[str]:
        return list(self._documents)

    @cached_property
    def _by_name(self) -> dict[str, str | None]:
        """The id that a file name, or one without its ending, is part of; None for several."""
        found: dict[str, str | None] = {}
        for id_ in self._ids:
            path = PurePosixPath(id_)
            for name in {path.name, path.stem}:
                found[name] = None if name in found else id_
        return found

    @cached_property
    def _index(self) -> tuple[_Hashes, npt.NDArray[np.int32]]:
        """The marks of all documents, sorted, and the number of the document that each is of."""
        marks = [_marks(document.text) for document in self._documents.values()]
        sizes = [len(each) for each in marks]
        numbers = np.repeat(np.arange(len(marks), dtype=np.int32), sizes)
        joined = np.concatenate(marks) if marks else np.empty(0, np.uint64)
        order = np.argsort(joined, kind="stable")
        return joined[order], numbers[order]

    def _sharing(self, marks: _Hashes) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the numbers of the documents that share a mark, and how many each shares."""
        known, numbers = self._index
        left, right = np.searchsorted(known, marks, "left"), np.searchsorted(known, marks, "right")
        found = [numbers[at:end] for at, end in zip(left, right, strict=True)]
        shared, counts = np.unique(np.concatenate(found), return_counts=True)
        return shared, counts


def _marks(text: str) -> _Hashes:
    """Return the hashes that tell of a text, each once: of its visible characters, case ignored.

    Winnowing: Schleimer, Wilkerson & Aiken, "Winnowing: Local Algorithms for Document
    Fingerprinting", SIGMOD 2003.
    """
    visible = "".join(text.casefold().split())
    codes = np.frombuffer(visible.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    if len(codes) < sum(_DOUBLINGS) * 2 + 1:
        return np.empty(0, np.uint64)
    grams = codes.astype(np.uint64)
    for step in _DOUBLINGS:
        factor = np.uint64(pow(0x9E3779B97F4A7C15, step, 1 << 64))
        grams = grams[:-step] * factor + grams[step:]
    # Grams that begin alike would else be near each other, and the least of them always the same.
    grams = (grams ^ (grams >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    grams ^= grams >> np.uint64(32)
    for step in _DOUBLINGS:
        grams = np.minimum(grams[:-step], grams[step:])
    return np.unique(grams)
