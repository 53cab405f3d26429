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

from harness.chunkers import hit_chunker
from harness.config.run_config import RunConfig
from harness.errors import ModelError
from harness.models import model_files
from harness.preflight.machine import external_parts
from harness.text.numbers import count

GIGA = 1_000_000_000
_PROCESS_BYTES = 270_000_000
_LIBRARY_BYTES = 600_000_000
_WEIGHT_COPIES = 3
"""Times that a model's weights are in memory at the most: read, converted, running."""
_MEMORY_PER_TEXT_BYTE = 4
"""Bytes of memory a byte of the corpus: as text, and folded for what is looked up in it."""
_CHARS_PER_TOKEN = 4
"""Characters of a token."""
_MIN_FILL = 0.5
"""How full a chunk is on average, at the least: structure ends many early."""
_DEFAULT_CHUNK_CHARS = 500
"""Characters of a chunk where a chunker is not told."""
_DEFAULT_DIMENSIONS = 1_024
_ROW_BYTES, _PLACE_BYTES, _HIT_BYTES, _RECORD_BYTES = 600, 24, 410, 400


@dataclass(frozen=True)
class PlannedSize:
    """What a run takes, in bytes; `kept` goes to the cache, `stored` to the output."""

    memory: int
    kept: int
    stored: int
    text: str


def estimate_size(config: RunConfig) -> PlannedSize:
    """Return the estimate, an upper one: of PDF and the like only a part of the bytes is text.

    Chunks are twice the corpus's bytes over what a full one adds, `size` less `overlap`, as those
    that follow a text's structure are seldom full; on the shipped corpus twice those there are.
    In memory: the process, the models, 4 bytes a byte of text, and of the largest index 4 d + 8 M +
    340 bytes a chunk, of d numbers and M neighbors. On disk: for each chunker and embedder 12 d +
    8 M + 1,200 bytes a chunk (index, vectors, and their rows), and a record for each question and
    cell of 400 bytes and 410 a hit.
    """
    documents, size = _corpus_size(Path(config.corpus.path))
    settings = config.settings
    pairs = dict.fromkeys(
        (cell.chunker, cell.embedder) for cell in config.cells if cell.embedder is not None
    )
    chunks = {
        chunker: _estimate_chunks(chunker, size, documents)
        for cell in config.cells
        for chunker in (cell.chunker, hit_chunker(cell.chunker))
    }
    largest = cached = 0
    for chunker, embedder in pairs:
        numbers = dimensions(embedder)
        links = 8 * settings.index.max_neighbors
        graph = chunks[chunker] * (4 * numbers + links + 340)
        largest = max(largest, graph)
        cached += chunks[chunker] * (12 * numbers + links + 2 * _ROW_BYTES)
    cached += sum(number * _PLACE_BYTES for number in chunks.values())
    questions = _count_questions(Path(config.testset.path))
    cells = len(config.cells) + len(config.systems)
    stored = questions * cells * (_RECORD_BYTES + _HIT_BYTES * settings.retrieve)
    memory = _PROCESS_BYTES + _MEMORY_PER_TEXT_BYTE * size + largest + sum(_model_bytes(config))
    number = max(chunks.values(), default=0)
    text = f"planned: up to {count(documents, 'document')} of {size / 1e6:.1f} MB"
    text += f", up to about {number:,} chunks a chunker" if chunks else ""
    text += f", {count(questions, 'question')}, {count(cells, 'cell')}"
    return PlannedSize(memory, cached, stored, text)


def dimensions(embedder: Any) -> int:
    """Return how many numbers a vector of an embedder has; 1,024 where its files do not say."""
    declared = getattr(embedder, "dimensions", None)
    if isinstance(declared, int):
        return declared
    model = getattr(embedder, "model", None)
    with suppress(ModelError, OSError, ValueError, AttributeError, TypeError):
        if model is not None and model_files.is_here(model):
            text = (model_files.locate(model) / "config.json").read_text(encoding="utf-8")
            return int(json.loads(text)["hidden_size"])
    return _DEFAULT_DIMENSIONS


def _model_bytes(config: RunConfig) -> Iterator[int]:
    """Yield the bytes that each model takes, and the libraries under them."""
    n_encoders = 0
    for model in external_parts.encoders(config):
        with suppress(ModelError, OSError):
            if model_files.is_here(model):
                n_encoders += 1
                files = model_files.locate(model).rglob("*")
                yield _WEIGHT_COPIES * max(file.stat().st_size for file in files if file.is_file())
    if n_encoders:
        yield _LIBRARY_BYTES
    for chat in external_parts.chat_models(config):
        if chat.file is not None:
            with suppress(OSError):
                yield Path(chat.file).stat().st_size


def _estimate_chunks(chunker: Any, size: int, documents: int) -> int:
    length = getattr(chunker, "size", None) or _DEFAULT_CHUNK_CHARS
    step = max(1, length - (getattr(chunker, "overlap", None) or 0))
    step *= _CHARS_PER_TOKEN if getattr(chunker, "unit", "") == "tokens" else 1
    return documents if chunker.name == "whole" else int(size / (_MIN_FILL * step)) + documents


def _corpus_size(path: Path) -> tuple[int, int]:
    """Return the number of documents and their bytes: a file each, or a line or row each."""
    path = path / "corpus.jsonl" if (path / "corpus.jsonl").is_file() else path
    if path.is_file():
        return _count_lines(path, 2_000), path.stat().st_size
    files = [file for file in path.rglob("*") if file.is_file() and file.name[0] != "."]
    size = sum(file.stat().st_size for file in files)
    if files and all(file.suffix in (".jsonl", ".tsv") for file in files):
        return sum(_count_lines(file, 2_000) for file in files), size
    return len(files), size


def _count_questions(path: Path) -> int:
    """Return the lines of a test set's file, or of the queries in its folder."""
    file = path / "queries.jsonl" if path.is_dir() else path
    return _count_lines(file, 500) if file.is_file() else 0


def _count_lines(path: Path, bytes_per_line: int) -> int:
    """Return a file's lines; of JSON, which may be on one line, an estimate by `bytes_per_line`."""
    if path.suffix == ".json":
        return max(1, path.stat().st_size // bytes_per_line)
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) or 1
