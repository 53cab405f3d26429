"""An existing collection as it stands: its own chunks and its own vectors are what is searched."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from harness.cache import Cache
from harness.corpus import Corpus
from harness.embedders import Embedder, Vectors
from harness.errors import HarnessError, RunError
from harness.exact import Doubles
from harness.fingerprint import fingerprint
from harness.index.chroma import Approximate
from harness.index.collection import Row, Source
from harness.index.flat import Flat, Writing
from harness.index.placed import StoredChunks, place
from harness.index.settings import Existing
from harness.matching import Counts
from harness.records import Chunk
from harness.registry import given, label
from harness.vectors import Texts

KIND = "collections"
_VERSION = 1
_PLACES, _COUNTS = "places.npy", "matched.json"
_LOST = 0.05
"""The share of chunks that may be nowhere in the corpus before a run warns."""
_SAMPLE = 20
_ALIKE = 0.98
"""The mean cosine under which vectors are taken for another model's."""
_LONG = 0.01
"""How far from 1 the mean length of vectors may be, in a collection that compares by distance."""

Told = Callable[[str, int, int], None]
"""Is told the work, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class AsItStands:
    """The chunks of a collection that is there, in the place of a chunker."""

    collection: str | None = given()

    version: ClassVar[int] = 1
    header: ClassVar[str] = "none"
    parent: ClassVar[None] = None

    @property
    def name(self) -> str:
        """What reports call it."""
        return str(self.collection)


class Standing(Approximate):
    """The collection itself, asked for the nearest."""

    def __init__(self, folder: Path, source: Source, numbers: Mapping[str, int]) -> None:
        super().__init__(folder, source.space, source.most)
        self._source = source
        self._numbers = numbers

    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        try:
            return [[self._numbers[id_] for id_ in ids] for ids in self._source.find(vectors, k)]
        except KeyError:
            raise _changed(self._source) from None


class Collected:
    """A collection as one run sees it; `warnings` are what a reader of the run should know."""

    def __init__(self, folder: Path, chunks: StoredChunks, source: Source, rows: list[Row]) -> None:
        self.chunks = chunks
        self.matched = Counts(**json.loads((folder / _COUNTS).read_text(encoding="utf-8")))
        self.warnings = list(_lost(source.name, self.matched))
        self._folder = folder
        self._source = source
        self._numbers = {row.id: number for number, row in enumerate(rows)}

    def index(self, exact: bool) -> Flat:
        """Return the collection to be searched: by itself, or by comparing all of its vectors."""
        if exact:
            return Flat(self._folder, self._source.space)
        return Standing(self._folder, self._source, self._numbers)

    def describe(self) -> dict[str, Any]:
        """Return what it is, for the record."""
        built, source = self.index(exact=True).built, self._source
        about = {"name": source.name, "hash": self.chunks.id, "chunks": built.chunks}
        return {**about, "dimensions": built.dimensions, "space": source.space}

    def check(self, embedder: Embedder, cache: Cache, seed: int) -> None:
        """Hold an embedder against the stored vectors, by some texts that are embedded again.

        Raises:
            HarnessError: it makes vectors of another size.
        """
        index, name = self.index(exact=True), f"collection {self._source.name!r}"
        sample = self._sample(seed)
        texts = [chunk.indexed_text for chunk in sample]
        vectors, _ = Texts(embedder, cache).embed(texts, "document")
        stored = index.vectors([chunk.index for chunk in sample]).astype(np.float64)
        if texts and vectors.shape[1] != stored.shape[1]:
            raise HarnessError(
                f"{name} holds vectors of {stored.shape[1]} numbers, and embedder "
                f"{label(embedder)} makes {vectors.shape[1]}\n"
                "  name the embedder that the collection was made with"
            )
        if texts:
            self.warnings += _unlike(name, label(embedder), stored, vectors, self._source.space)

    def _sample(self, seed: int) -> list[Chunk]:
        size = min(len(self.chunks), _SAMPLE)
        chosen = random.Random(seed).sample(range(len(self.chunks)), size)
        return [chunk for chunk in map(self.chunks.__getitem__, chosen) if chunk.indexed_text]


def opened(
    cache: Cache,
    existing: Existing,
    corpus: Corpus,
    told: Told = lambda work, done, total: None,
) -> Collected:
    """Read a collection, and find its chunks in the corpus.

    Raises:
        HarnessError: it is not there, is empty, or holds no text.
        RunError: it cannot be read to the end.
    """
    source = Source(existing, cache.root / KIND)
    work, total = f"reading {source.name}", source.count
    found, content = source.content(lambda done: told(work, done, total))
    rows = [_with_text(row, existing) for row in found]
    if not any(row.text or existing.end in row.metadata for row in rows):
        raise _without_text(source.name, existing, rows)
    keys = [existing.doc, existing.start, existing.end, existing.text]
    about = {"version": _VERSION, "content": content, "corpus": corpus.id, "keys": keys}
    make = partial(
        _save, source=source, content=content, rows=rows, existing=existing, corpus=corpus
    )
    folder = cache.folder(KIND, about, make)
    places = np.load(folder / _PLACES, allow_pickle=False)
    chunks = StoredChunks(fingerprint(about), source.name, corpus, places, rows)
    return Collected(folder, chunks, source, rows)


def _with_text(row: Row, existing: Existing) -> Row:
    if existing.text is None:
        return row
    text = row.metadata.get(existing.text)
    return replace(row, text=text if isinstance(text, str) else None)


def _without_text(name: str, existing: Existing, rows: Sequence[Row]) -> HarnessError:
    keys = sorted({key for row in rows for key in row.metadata})
    said = f"text under the key {existing.text!r}" if existing.text else "documents"
    return HarnessError(
        f"collection {name!r} holds no {said}\n"
        f"  name the key of its metadata that is the text, `text`; there are: "
        f"{', '.join(keys) or 'none'}"
    )


def _save(
    folder: Path,
    source: Source,
    content: str,
    rows: Sequence[Row],
    existing: Existing,
    corpus: Corpus,
) -> None:
    """Write where the chunks stand, and their vectors, which are read again."""
    places, counts = place(rows, existing, corpus)
    np.save(folder / _PLACES, places, allow_pickle=False)
    (folder / _COUNTS).write_text(json.dumps(asdict(counts)), encoding="utf-8")
    file = Writing(folder, len(rows))
    try:
        _, again = source.content(keep=file.add)
    finally:
        file.close()
    if again != content:
        raise _changed(source)
    file.finish(truncated=0)


def _changed(source: Source) -> RunError:
    return RunError(
        f"collection {source.name!r} was written to while it was being read\n"
        "  run the same command again once it is quiet"
    )


def _lost(name: str, found: Counts) -> Iterator[str]:
    if found.unmatched > _LOST * found.contexts:
        share = 100 * found.unmatched / found.contexts
        yield (
            f"collection {name!r}: {found.unmatched} of {found.contexts} chunks ({share:.1f} %) "
            f"are nowhere in the corpus, so no evidence is seen in them: the first is "
            f"{found.example}"
        )


def _unlike(
    name: str, embedder: str, stored: Doubles, vectors: Vectors, space: str
) -> Iterator[str]:
    """Yield why the questions' vectors may be no match for the stored ones."""
    lengths = np.linalg.norm(stored, axis=1)
    alike = float(((stored * vectors).sum(axis=1) / np.where(lengths > 0, lengths, 1)).mean())
    if alike < _ALIKE:
        yield (
            f"{name}: {len(stored)} of its texts, embedded again by {embedder}, have a mean cosine "
            f"of {alike:.3f} with its vectors: it was probably made by another model, or with a "
            "header or a prefix"
        )
    long = float(lengths.mean())
    if space == "l2" and abs(long - 1) > _LONG:
        yield (
            f"{name} compares by distance, and its vectors have a mean length of {long:.3f}: "
            "questions are embedded with length 1, so it may rank otherwise than where it is used"
        )
