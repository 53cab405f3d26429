"""How much a run holds in memory and leaves on disk, estimated without reading its corpus.

Measured: an index of 500,000 vectors of 384 numbers took 2.0 KB of memory and 1.9 KB of disk a
vector, a row of the vectors' cache 2.1 KB, a stored record 8.6 KB with 20 hits, a process without a
model 0.3 GB, and one that loads MiniLM (0.09 GB) with torch and OpenVINO 1.1 GB.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import models
from harness.chunkers import handed
from harness.config import RunConfig
from harness.doctor import parts
from harness.errors import ModelError
from harness.index import STRETCH
from harness.numbers import count

GIGA = 1_000_000_000
_PROCESS = 270_000_000
_LIBRARY = 600_000_000
_COPIES = 3
"""Times that a model's weights are in memory at the most: read, converted, running."""
_TEXT = 4
"""Bytes of memory a byte of the corpus: as text, and folded for what is looked up in it."""
_TOKEN = 4
"""Characters of a token."""
_FULL = 0.5
"""How full a chunk is on average, at the least: structure ends many early."""
_SIZE = 500
"""Characters of a chunk where a chunker is not told."""
_DIMENSIONS = 1_024
_ROW, _PLACE, _HIT, _RECORD = 600, 24, 410, 400


@dataclass(frozen=True)
class Planned:
    """What a run takes, in bytes; `kept` goes to the cache, `stored` to the output."""

    memory: int
    kept: int
    stored: int
    said: str


def planned(config: RunConfig) -> Planned:
    """Return the estimate, an upper one: of PDF and the like only a part of the bytes is text.

    Chunks are twice the corpus's bytes over what a full one adds, `size` less `overlap`, as those
    that follow a text's structure are seldom full; on the shipped corpus twice those there are.
    In memory: the process, the models, 4 bytes a byte of text, and of the largest index 4 d + 8 M +
    340 bytes a chunk, of d numbers and M neighbors. On disk: for each chunker and embedder 12 d +
    8 M + 1,200 bytes a chunk (index, vectors, and their rows), and a record for each question and
    cell of 400 bytes and 410 a hit; and twice Chroma's part of the largest index, about what it
    takes of memory, for the copies of it while it is built.
    """
    documents, size = _corpus(Path(config.corpus.path))
    index, settings = config.settings.index, config.settings
    pairs = dict.fromkeys(
        (cell.chunker, cell.embedder) for cell in config.cells if cell.embedder is not None
    )
    chunks = {
        chunker: _chunks(chunker, size, documents)
        for cell in config.cells
        for chunker in (cell.chunker, handed(cell.chunker))
    }
    largest = copied = kept = 0
    for chunker, embedder in pairs:
        numbers = dimensions(embedder)
        links = 8 * index.max_neighbors
        graph = chunks[chunker] * (4 * numbers + links + 340)
        largest = max(largest, graph)
        if chunks[chunker] > STRETCH and not index.exact:
            copied = max(copied, 2 * graph)
        kept += chunks[chunker] * (12 * numbers + links + 2 * _ROW)
    kept += copied + sum(number * _PLACE for number in chunks.values())
    questions = _questions(Path(config.testset.path))
    cells = len(config.cells) + len(config.systems)
    stored = questions * cells * (_RECORD + _HIT * settings.retrieve)
    memory = _PROCESS + _TEXT * size + largest + sum(_models(config))
    number = max(chunks.values(), default=0)
    said = f"planned: up to {count(documents, 'document')} of {size / 1e6:.1f} MB"
    said += f", up to about {number:,} chunks a chunker" if chunks else ""
    said += f", {count(questions, 'question')}, {count(cells, 'cell')}"
    return Planned(memory, kept, stored, said)


def dimensions(embedder: Any) -> int:
    """Return how many numbers a vector of an embedder has; 1,024 where its files do not say."""
    given = getattr(embedder, "dimensions", None)
    if isinstance(given, int):
        return given
    model = getattr(embedder, "model", None)
    with suppress(ModelError, OSError, ValueError, AttributeError, TypeError):
        if model is not None and models.is_here(model):
            text = (models.locate(model) / "config.json").read_text(encoding="utf-8")
            return int(json.loads(text)["hidden_size"])
    return _DIMENSIONS


def _models(config: RunConfig) -> Iterator[int]:
    """Yield the bytes that each model takes, and the libraries under them."""
    found = 0
    for model in parts.encoders(config):
        with suppress(ModelError, OSError):
            if models.is_here(model):
                found += 1
                files = models.locate(model).rglob("*")
                yield _COPIES * max(each.stat().st_size for each in files if each.is_file())
    if found:
        yield _LIBRARY
    for chat in parts.chats(config):
        if chat.file is not None:
            with suppress(OSError):
                yield Path(chat.file).stat().st_size


def _chunks(chunker: Any, size: int, documents: int) -> int:
    length = getattr(chunker, "size", None) or _SIZE
    step = max(1, length - (getattr(chunker, "overlap", None) or 0))
    step *= _TOKEN if getattr(chunker, "unit", "") == "tokens" else 1
    return documents if chunker.name == "whole" else int(size / (_FULL * step)) + documents


def _corpus(path: Path) -> tuple[int, int]:
    """Return the number of documents and their bytes: a file each, or a line or row each."""
    path = path / "corpus.jsonl" if (path / "corpus.jsonl").is_file() else path
    if path.is_file():
        return _lines(path, 2_000), path.stat().st_size
    files = [each for each in path.rglob("*") if each.is_file() and each.name[0] != "."]
    size = sum(each.stat().st_size for each in files)
    if files and all(each.suffix in (".jsonl", ".tsv") for each in files):
        return sum(_lines(each, 2_000) for each in files), size
    return len(files), size


def _questions(path: Path) -> int:
    """Return the lines of a test set's file, or of the queries in its folder."""
    file = path / "queries.jsonl" if path.is_dir() else path
    return _lines(file, 500) if file.is_file() else 0


def _lines(path: Path, each: int) -> int:
    """Return a file's lines; of JSON, which may be on one line, how many of `each` bytes it has."""
    if path.suffix == ".json":
        return max(1, path.stat().st_size // each)
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) or 1
