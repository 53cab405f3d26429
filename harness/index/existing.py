"""Reads and searches an existing collection, its own chunks and vectors, and never writes to it."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np

from harness.cache import users
from harness.cache.folders import Cache
from harness.corpus import Corpus
from harness.embedders.vector_cache import CachedEmbedder
from harness.errors import HarnessError, RunError, suggest
from harness.files import checksums
from harness.files.batches import batched
from harness.fingerprint import fingerprint
from harness.index.index_settings import Existing
from harness.index.local import Approximate, ChromaClient, ExactIndex, FolderClient, VectorWriter
from harness.index.placement import CollectionRecord, StoredChunks, place_records
from harness.index.server import ServerClient
from harness.protocols import Embedder, Vectors
from harness.ranking.exact_search import Space
from harness.registry import injected, label
from harness.text.align import MatchCounts

KIND = "collections"
_VERSION = 2
_PLACES, _COUNTS = "places.npy", "matched.json"
_FILE = "chroma.sqlite3"
_CHROMA_FILES = re.compile(
    rf"{re.escape(_FILE)}.*|[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}"
)
"""Chroma's file, what SQLite keeps beside it, and the folders of its indexes."""
_ROWS_PER_READ = 2_000
_MAX_UNPLACED_SHARE = 0.05
"""The share of chunks that may be nowhere in the corpus before a run warns."""
_SAMPLE_SIZE = 20
_MIN_MEAN_COSINE = 0.98
"""The mean cosine under which vectors are taken for another model's."""
_MAX_LENGTH_ERROR = 0.01
"""How far from 1 the mean length of vectors may be, in a collection that compares by distance."""


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


def check(existing: Existing) -> None:
    """Raise `HarnessError` where there is no such collection, as far as can be seen at once."""
    if existing.remote is not None:
        for name in existing.collections:
            ServerClient(existing.remote).check(name)
    elif not (Path(str(existing.path)) / _FILE).is_file():
        raise HarnessError(
            f"{existing.path!r} is no folder of Chroma's: it holds no {_FILE}\n"
            "  name the folder that PersistentClient was given, or a server"
        )


class Source:
    """A collection, on a server or in a copy of a folder, which goes when nobody reads it any more.

    Raises:
        HarnessError: it is not there, or cannot be read.
    """

    def __init__(self, existing: Existing, name: str, scratch: Path) -> None:
        self.name = name
        scratch.mkdir(parents=True, exist_ok=True)
        self._scratch = scratch
        self._chroma: ChromaClient = (
            _open_copy(Path(str(existing.path)), name, scratch)
            if existing.remote is None
            else ServerClient(existing.remote)
        )
        self._collection = self._chroma.ask(
            lambda client: client.get_collection(name, embedding_function=None)
        )
        self.max_hits = self._chroma.max_hits
        self.count = self._chroma.ask(lambda _: self._collection.count())
        if not self.count:
            raise HarnessError(f"collection {name!r} is empty")
        stored = self._collection.configuration_json
        self._configuration = {**(stored.get("spann") or {}), **(stored.get("hnsw") or {})}
        self.space: Space = self._configuration.get("space", "l2")
        if self.space not in get_args(Space):
            raise HarnessError(
                f"collection {name!r} compares by {self.space!r}, which is not known"
            )

    def read(
        self, progress: Callable[[int], None] = lambda done: None
    ) -> tuple[list[CollectionRecord], Vectors, str]:
        """Return all records, their vectors in a file that has no name, and a hash of it all.

        `progress` receives how many records are read.

        Raises:
            RunError: it cannot be read to the end.
        """
        digest, records = hashlib.sha256(), list[CollectionRecord]()
        with tempfile.TemporaryFile(dir=self._scratch) as file:
            for reply in self._pages():
                vectors = np.ascontiguousarray(reply["embeddings"], dtype="<f4")
                columns = (reply["ids"], reply["documents"], reply["metadatas"], vectors)
                for id_, text, metadata, vector in zip(*columns, strict=True):
                    records.append(CollectionRecord(id_, text, dict(metadata or {})))
                    line = [id_, text, records[-1].metadata]
                    digest.update(json.dumps(line, sort_keys=True, default=str).encode())
                    digest.update(vector.tobytes())
                file.write(vectors.data)
                progress(len(records))
            file.flush()
            if not len({record.id for record in records}) == len(records) == self.count:
                raise self.changed_error()
            mapped = np.memmap(file, "<f4", "r", shape=(len(records), vectors.shape[1]))
        return records, mapped, fingerprint(digest.hexdigest(), self._configuration)

    def _pages(self) -> Iterator[Any]:
        step, offset = 1, 0  # how long its vectors are, the first one says
        while True:
            reply: Any = self._chroma.ask(
                lambda _, limit=step, offset=offset: self._collection.get(  # type: ignore[misc]
                    limit=limit, offset=offset, include=["documents", "metadatas", "embeddings"]
                )
            )
            if not reply["ids"]:
                return
            yield reply
            offset += len(reply["ids"])
            rows = self._chroma.rows_per_request(len(reply["embeddings"][0]))
            step = min(rows, _ROWS_PER_READ)

    def find(self, vectors: Vectors, k: int) -> list[list[str]]:
        """Return the ids of the `k` nearest of each vector, best first."""
        return self._chroma.query(self._collection, vectors, k)

    def changed_error(self) -> RunError:
        """Return the error for a collection that is not as it was when reading began."""
        return RunError(
            f"collection {self.name!r} was written to while it was being read\n"
            "  run the same command again once it is quiet"
        )


def _open_copy(path: Path, name: str, scratch: Path) -> FolderClient:
    """Open a copy of a folder that has the collection: to open one, Chroma writes to it."""
    folder = users.hidden_path(scratch)
    try:
        _copy(path, folder)
    except OSError as error:
        raise HarnessError(
            f"{str(path)!r} cannot be copied: {checksums.error_reason(error)}\n"
            "  it is copied into the cache, as opening it would change it; or start "
            f"`chroma run --path {path}`, and name the server"
        ) from None
    try:
        chroma = FolderClient(folder, f"collection {name!r} cannot be read", delete=True)
        names = chroma.ask(lambda client: [item.name for item in client.list_collections()])
    except Exception as error:  # noqa: BLE001  a damaged file can be anything
        shutil.rmtree(folder, ignore_errors=True)
        raise HarnessError(f"{str(path)!r} cannot be read by Chroma: {error}") from None
    if name in names:
        return chroma
    hint = suggest(name, names) if names else "it holds none at all"
    raise HarnessError(f"{str(path)!r} has no collection {name!r}\n  {hint}")


def _copy(path: Path, folder: Path) -> None:
    before = _stat_files(path)
    for name in before:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path / name, folder / name)
    if _stat_files(path) != before:
        raise HarnessError(
            f"{str(path)!r} was written to while it was being copied\n  try again once it is quiet"
        )


def _stat_files(path: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of each of Chroma's files, by its path."""
    own = [entry for entry in path.iterdir() if _CHROMA_FILES.fullmatch(entry.name)]
    files = [file for entry in own for file in ([entry] if entry.is_file() else entry.iterdir())]
    stats = {file.relative_to(path).as_posix(): file.stat() for file in files}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


class ExistingIndex(Approximate):
    """The collection itself, asked for the nearest."""

    def __init__(self, folder: Path, source: Source, chunks: StoredChunks) -> None:
        super().__init__(folder, source.space, source.max_hits)
        self._source = source
        self._numbers = {record.id: number for number, record in enumerate(chunks.records)}

    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        try:
            return [[self._numbers[id_] for id_ in ids] for ids in self._source.find(vectors, k)]
        except KeyError:
            raise self._source.changed_error() from None


class ExistingChunks:
    """A collection as one run sees it; `warnings` are what a reader of the run should know."""

    def __init__(self, folder: Path, chunks: StoredChunks, source: Source) -> None:
        self.chunks = chunks
        self.matched = MatchCounts(**json.loads((folder / _COUNTS).read_text(encoding="utf-8")))
        self.warnings: list[str] = []
        self._folder = folder
        self._source = source
        unmatched, total = self.matched.unmatched, self.matched.contexts
        if unmatched > _MAX_UNPLACED_SHARE * total:
            self.warnings.append(
                f"collection {source.name!r}: {unmatched} of {total} chunks "
                f"({100 * unmatched / total:.1f} %) are nowhere in the corpus, so no evidence is "
                f"seen in them: the first is {self.matched.example}"
            )

    def index(self, exact: bool) -> ExactIndex:
        """Return the collection to be searched: by itself, or by comparing all of its vectors."""
        if exact:
            return ExactIndex(self._folder, self._source.space)
        return ExistingIndex(self._folder, self._source, self.chunks)

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
        size = min(len(self.chunks), _SAMPLE_SIZE)
        numbers = random.Random(seed).sample(range(len(self.chunks)), size)
        sample = [chunk for chunk in map(self.chunks.__getitem__, numbers) if chunk.indexed_text]
        if not sample:
            return
        name, space = f"collection {self._source.name!r}", self._source.space
        texts = [chunk.indexed_text for chunk in sample]
        vectors, _ = CachedEmbedder(embedder, cache).embed(texts, "document")
        stored = self.index(exact=True).vectors([chunk.index for chunk in sample])
        stored = stored.astype(np.float64)
        if vectors.shape[1] != stored.shape[1]:
            raise HarnessError(
                f"{name} holds vectors of {stored.shape[1]} numbers, and embedder "
                f"{label(embedder)} makes {vectors.shape[1]}\n"
                "  name the embedder that the collection was made with"
            )
        lengths = np.linalg.norm(stored, axis=1)
        cosines = (stored * vectors).sum(axis=1) / np.where(lengths > 0, lengths, 1)
        if (cosine := float(cosines.mean())) < _MIN_MEAN_COSINE:
            self.warnings.append(
                f"{name}: {len(sample)} of its texts, embedded again by {label(embedder)}, have a "
                f"mean cosine of {cosine:.3f} with its vectors: it was probably made by another "
                "model, or with a header or a prefix"
            )
        length = float(lengths.mean())
        if space == "l2" and abs(length - 1) > _MAX_LENGTH_ERROR:
            self.warnings.append(
                f"{name} compares by distance, and its vectors have a mean length of "
                f"{length:.3f}: questions are embedded with length 1, so it may rank otherwise "
                "than where it is used"
            )


class Collections(dict[str, ExistingChunks]):
    """The collections that a run searches, by their names."""

    def describe(self) -> dict[str, Any]:
        """Return what they are, for the record; of several what they hold together."""
        about = [collection.describe() for collection in self.values()]
        if len(about) == 1:
            return about[0]
        hashes = fingerprint([each["hash"] for each in about])
        chunks = sum(each["chunks"] for each in about)
        return {"name": ", ".join(self), "hash": hashes, "chunks": chunks}


def open_existing(
    cache: Cache,
    existing: Existing,
    corpus: Corpus,
    progress: Callable[[str, int, int], None] = lambda work, done, total: None,
) -> Collections:
    """Read collections, and find their chunks in the corpus.

    `progress` receives the work, how much of it is done, and how much there is.

    Raises:
        HarnessError: it is not there, is empty, or holds no text.
        RunError: it cannot be read to the end.
    """
    names = existing.collections
    return Collections({name: _open(cache, existing, name, corpus, progress) for name in names})


def _open(
    cache: Cache,
    existing: Existing,
    name: str,
    corpus: Corpus,
    progress: Callable[[str, int, int], None],
) -> ExistingChunks:
    source = Source(existing, name, cache.root / KIND)
    work, total = f"reading {source.name}", source.count
    records, vectors, content = source.read(lambda done: progress(work, done, total))
    if existing.text is not None:
        records = [record.with_text_of(existing.text) for record in records]
    if not any(record.text or existing.end in record.metadata for record in records):
        keys = sorted({key for record in records for key in record.metadata})
        missing = f"text under the key {existing.text!r}" if existing.text else "documents"
        raise HarnessError(
            f"collection {source.name!r} holds no {missing}\n"
            f"  name the key of its metadata that is the text, `text`; there are: "
            f"{', '.join(keys) or 'none'}"
        )
    names = [existing.doc, existing.start, existing.end, existing.text]
    about = {"version": _VERSION, "content": content, "corpus": corpus.id, "keys": names}
    make = partial(_save, source.name, records, vectors, existing, corpus)
    folder = cache.folder(KIND, about, make)
    places = np.load(folder / _PLACES, allow_pickle=False)
    chunks = StoredChunks(fingerprint(about), source.name, corpus, places, records)
    return ExistingChunks(folder, chunks, source)


def _save(
    name: str,
    records: Sequence[CollectionRecord],
    vectors: Vectors,
    existing: Existing,
    corpus: Corpus,
    folder: Path,
) -> None:
    """Write where the chunks stand, and their vectors in the order of the chunks."""
    places, counts = place_records(records, existing, corpus)
    np.save(folder / _PLACES, places, allow_pickle=False)
    (folder / _COUNTS).write_text(json.dumps(asdict(counts)), encoding="utf-8")
    order = StoredChunks("", name, corpus, places, records).order
    with closing(VectorWriter(folder, len(records))) as file:
        for rows in batched(order.tolist(), _ROWS_PER_READ):
            file.add(np.asarray(vectors[rows]))
        file.finish(truncated=0)
