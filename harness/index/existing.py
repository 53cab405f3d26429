"""Searches an existing collection: its own chunks and its own vectors."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from harness.cache.folders import Cache
from harness.corpus import Corpus
from harness.embedders.vector_cache import CachedEmbedder
from harness.errors import HarnessError, RunError
from harness.fingerprint import fingerprint
from harness.index.chroma import Approximate
from harness.index.chunk_placement import StoredChunks, place_records
from harness.index.collection import CollectionRecord, Source
from harness.index.exact_index import ExactIndex, VectorWriter
from harness.index.index_settings import Existing
from harness.protocols import Embedder, Vectors
from harness.ranking.exact_search import Doubles
from harness.records import Chunk
from harness.registry import injected, label
from harness.text.align import MatchCounts

KIND = "collections"
_VERSION = 2
_PLACES, _COUNTS = "places.npy", "matched.json"
_MAX_UNPLACED_SHARE = 0.05
"""The share of chunks that may be nowhere in the corpus before a run warns."""
_SAMPLE_SIZE = 20
_MIN_MEAN_COSINE = 0.98
"""The mean cosine under which vectors are taken for another model's."""
_MAX_LENGTH_ERROR = 0.01
"""How far from 1 the mean length of vectors may be, in a collection that compares by distance."""

Told = Callable[[str, int, int], None]
"""Is told the work, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class AsItStands:
    """The chunks of a collection that is there, in the place of a chunker."""

    collection: str | None = injected()

    version: ClassVar[int] = 1
    header: ClassVar[str] = "none"
    parent: ClassVar[None] = None

    @property
    def name(self) -> str:
        """What reports call it."""
        return str(self.collection)


class ExistingIndex(Approximate):
    """The collection itself, asked for the nearest."""

    def __init__(self, folder: Path, source: Source, numbers: Mapping[str, int]) -> None:
        super().__init__(folder, source.space, source.most)
        self._source = source
        self._numbers = numbers

    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        try:
            return [[self._numbers[id_] for id_ in ids] for ids in self._source.find(vectors, k)]
        except KeyError:
            raise _changed_error(self._source) from None


class ExistingChunks:
    """A collection as one run sees it; `warnings` are what a reader of the run should know."""

    def __init__(self, folder: Path, chunks: StoredChunks, source: Source) -> None:
        self.chunks = chunks
        self.matched = MatchCounts(**json.loads((folder / _COUNTS).read_text(encoding="utf-8")))
        self.warnings = list(_unplaced_warnings(source.name, self.matched))
        self._folder = folder
        self._source = source
        self._numbers = {row.id: number for number, row in enumerate(chunks.rows)}

    def index(self, exact: bool) -> ExactIndex:
        """Return the collection to be searched: by itself, or by comparing all of its vectors."""
        if exact:
            return ExactIndex(self._folder, self._source.space)
        return ExistingIndex(self._folder, self._source, self._numbers)

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
        vectors, _ = CachedEmbedder(embedder, cache).embed(texts, "document")
        stored = index.vectors([chunk.index for chunk in sample]).astype(np.float64)
        if texts and vectors.shape[1] != stored.shape[1]:
            raise HarnessError(
                f"{name} holds vectors of {stored.shape[1]} numbers, and embedder "
                f"{label(embedder)} makes {vectors.shape[1]}\n"
                "  name the embedder that the collection was made with"
            )
        if texts:
            self.warnings += _mismatch_warnings(
                name, label(embedder), stored, vectors, self._source.space
            )

    def _sample(self, seed: int) -> list[Chunk]:
        size = min(len(self.chunks), _SAMPLE_SIZE)
        chosen = random.Random(seed).sample(range(len(self.chunks)), size)
        return [chunk for chunk in map(self.chunks.__getitem__, chosen) if chunk.indexed_text]


def open_existing(
    cache: Cache,
    existing: Existing,
    corpus: Corpus,
    progress: Told = lambda work, done, total: None,
) -> ExistingChunks:
    """Read a collection, and find its chunks in the corpus.

    Raises:
        HarnessError: it is not there, is empty, or holds no text.
        RunError: it cannot be read to the end.
    """
    source = Source(existing, cache.root / KIND)
    work, total = f"reading {source.name}", source.count
    records, content = source.content(lambda done: progress(work, done, total))
    rows = [_with_text(row, existing) for row in records]
    if not any(row.text or existing.end in row.metadata for row in rows):
        raise _no_text_error(source.name, existing, rows)
    keys = [existing.doc, existing.start, existing.end, existing.text]
    about = {"version": _VERSION, "content": content, "corpus": corpus.id, "keys": keys}
    make = partial(
        _save, source=source, content=content, rows=rows, existing=existing, corpus=corpus
    )
    folder = cache.folder(KIND, about, make)
    places = np.load(folder / _PLACES, allow_pickle=False)
    chunks = StoredChunks(fingerprint(about), source.name, corpus, places, rows)
    return ExistingChunks(folder, chunks, source)


def _with_text(row: CollectionRecord, existing: Existing) -> CollectionRecord:
    if existing.text is None:
        return row
    text = row.metadata.get(existing.text)
    return replace(row, text=text if isinstance(text, str) else None)


def _no_text_error(name: str, existing: Existing, rows: Sequence[CollectionRecord]) -> HarnessError:
    keys = sorted({key for row in rows for key in row.metadata})
    missing = f"text under the key {existing.text!r}" if existing.text else "documents"
    return HarnessError(
        f"collection {name!r} holds no {missing}\n"
        f"  name the key of its metadata that is the text, `text`; there are: "
        f"{', '.join(keys) or 'none'}"
    )


def _save(
    folder: Path,
    source: Source,
    content: str,
    rows: Sequence[CollectionRecord],
    existing: Existing,
    corpus: Corpus,
) -> None:
    """Write where the chunks stand, and their vectors, which are read again."""
    places, counts = place_records(rows, existing, corpus)
    np.save(folder / _PLACES, places, allow_pickle=False)
    (folder / _COUNTS).write_text(json.dumps(asdict(counts)), encoding="utf-8")
    order = StoredChunks("", source.name, corpus, places, rows).order
    number_at = iter(np.argsort(order).tolist())  # it may end early, where rows were added since
    with closing(VectorWriter(folder, len(rows))) as file:
        _, again = source.content(
            keep=lambda vectors: file.add(vectors, [next(number_at, 0) for _ in vectors])
        )
    if again != content:
        raise _changed_error(source)
    file.finish(truncated=0)


def _changed_error(source: Source) -> RunError:
    return RunError(
        f"collection {source.name!r} was written to while it was being read\n"
        "  run the same command again once it is quiet"
    )


def _unplaced_warnings(name: str, counts: MatchCounts) -> Iterator[str]:
    if counts.unmatched > _MAX_UNPLACED_SHARE * counts.contexts:
        share = 100 * counts.unmatched / counts.contexts
        yield (
            f"collection {name!r}: {counts.unmatched} of {counts.contexts} chunks ({share:.1f} %) "
            f"are nowhere in the corpus, so no evidence is seen in them: the first is "
            f"{counts.example}"
        )


def _mismatch_warnings(
    name: str, embedder: str, stored: Doubles, vectors: Vectors, space: str
) -> Iterator[str]:
    """Yield why the questions' vectors may be no match for the stored ones."""
    lengths = np.linalg.norm(stored, axis=1)
    alike = float(((stored * vectors).sum(axis=1) / np.where(lengths > 0, lengths, 1)).mean())
    if alike < _MIN_MEAN_COSINE:
        yield (
            f"{name}: {len(stored)} of its texts, embedded again by {embedder}, have a mean cosine "
            f"of {alike:.3f} with its vectors: it was probably made by another model, or with a "
            "header or a prefix"
        )
    long = float(lengths.mean())
    if space == "l2" and abs(long - 1) > _MAX_LENGTH_ERROR:
        yield (
            f"{name} compares by distance, and its vectors have a mean length of {long:.3f}: "
            "questions are embedded with length 1, so it may rank otherwise than where it is used"
        )
