"""Memory, disks and folders: what is free, what the planned run takes, and what can be written.

Measured: an index of 500,000 vectors of 384 numbers took 2.0 KB of memory and 1.9 KB of disk a
vector, a row of the vectors' cache 2.1 KB, a stored record 8.6 KB with 20 hits, a process without a
model 0.3 GB, and one that loads MiniLM (0.09 GB) with torch and OpenVINO 1.1 GB.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cache.folders import check_version
from harness.chunkers import hit_chunker
from harness.config.resolved import RunConfig
from harness.config.settings import Settings
from harness.errors import HarnessError, ModelError
from harness.files import locks
from harness.files.atomic import check_writable
from harness.models import model_files
from harness.preflight.services import Fact, Services, problem_of
from harness.text.numbers import count

_GIGA = 1_000_000_000
_PROCESS_BYTES, _LIBRARY_BYTES = 270_000_000, 600_000_000
_WEIGHT_COPIES = 3
"""Times that a model's weights are in memory at the most: read, converted, running."""
_MEMORY_PER_TEXT_BYTE = 4
_CHARS_PER_TOKEN = 4
_MIN_FILL = 0.5
"""How full a chunk is on average, at the least: structure ends many early."""
_DEFAULT_CHUNK_CHARS, _DEFAULT_DIMENSIONS = 500, 1_024
_ROW_BYTES, _PLACE_BYTES, _HIT_BYTES, _RECORD_BYTES = 600, 24, 410, 400
_WARNING_SHARE = 0.8
_MIN_FREE_BYTES = _GIGA


@dataclass(frozen=True)
class PlannedSize:
    """Bytes that a run takes in memory, in its cache and in its output."""

    memory: int
    cache: int
    output: int
    text: str


def check_room(config: RunConfig | None, used: Services) -> Iterator[Fact]:
    """Yield memory and disk: what is free, and against it what the run takes."""
    plan, places = None, {Path(): 0}
    if config is not None:
        try:
            plan = estimate_size(config, used)
            yield Fact("ok", plan.text)
        except OSError as error:
            text = f"what is planned cannot be estimated: {error.strerror or error}"
            yield Fact("warning", text, "look at the paths of corpus and test set")
        places = {config.output: plan.output if plan else 0}
        places[config.cache] = places.get(config.cache, 0) + (plan.cache if plan else 0)
    yield check_memory(None if plan is None else plan.memory, _free_memory())
    disks: dict[int, tuple[Path, int]] = {}
    for place, size in places.items():
        folder = _nearest_existing(place)
        device = os.stat(folder).st_dev
        disks[device] = folder, size + (disks[device][1] if device in disks else 0)
    for folder, size in disks.values():
        yield check_disk(folder, None if plan is None else size, shutil.disk_usage(folder).free)


def check_memory(taken: int | None, free: int | None) -> Fact:
    """Return whether there is memory for what is planned, if anything is; in bytes."""
    if free is None:
        return Fact("ok", "how much memory is free is not known here")
    text = f"{free / _GIGA:.1f} GB of memory are free"
    if taken is None:
        return Fact("ok", text)
    needs = f"the run takes about {taken / _GIGA:.1f} GB"
    if taken > free:
        remedy = "use a smaller model, index fewer chunks, or a machine with more memory"
        return Fact("problem", f"{text}, and {needs}", remedy)
    if taken > _WARNING_SHARE * free:
        return Fact("warning", f"{text}, and {needs}", "close what else is running")
    return Fact("ok", f"{text}; {needs}")


def check_disk(folder: Path, taken: int | None, free: int) -> Fact:
    """Return whether a folder's disk has room for what is planned, if anything is; in bytes."""
    text = f"{free / _GIGA:.1f} GB of disk are free at {str(folder.absolute())!r}"
    text += "" if taken is None else f"; the run takes up to {taken / _GIGA:.2f} GB of it"
    remedy = "make room, or name another disk: --set cache=FOLDER"
    if taken is not None and taken > free:
        return Fact("problem", text, remedy)
    if free < _MIN_FREE_BYTES or (taken or 0) > _WARNING_SHARE * free:
        return Fact("warning", text, remedy)
    return Fact("ok", text)


def _free_memory() -> int | None:
    """Return the bytes that a new process may take, in a container too; None where nobody says."""
    bounds: list[int] = []
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        bounds += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvail")]
    with suppress(OSError, ValueError):  # there is no limit, or it says `max`
        limit, used = (
            int(Path("/sys/fs/cgroup", name).read_text(encoding="utf-8"))
            for name in ("memory.max", "memory.current")
        )
        bounds.append(max(0, limit - used))
    return min(bounds, default=None)


def _nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


def check_folders(config: RunConfig | None) -> Iterator[Fact]:
    """Yield whether output and cache, which need not be there yet, can be written and locked."""
    for key in ("output", "cache"):
        default = Path(Settings.model_fields[key].default)
        yield _check_folder(key, default if config is None else getattr(config, key))


def _check_folder(key: str, path: Path) -> Fact:
    text, remedy = f"{key} {str(path)!r}", f"name another: --set {key}=FOLDER"
    try:
        check_writable(path, key)
        if key == "cache":
            check_version(path)
    except HarnessError as error:
        return problem_of(error)
    except OSError as error:
        return Fact("problem", f"{text} cannot be used: {error.strerror}", remedy)
    with tempfile.TemporaryDirectory(dir=_nearest_existing(path)) as temporary:
        lock = None
        with suppress(OSError):
            lock = locks.lock(Path(temporary, locks.FOLDER_LOCK))
        if lock is None:
            message = f"{text} can be written, on a disk without locks: `cache gc` deletes nothing"
            return Fact("warning", message, remedy)
        locks.release(lock)
    return Fact("ok", f"{text} can be written, and locked")


def estimate_size(config: RunConfig, used: Services) -> PlannedSize:
    """Return an upper estimate, without reading the corpus: of PDF only a part of it is text.

    Chunks are twice the corpus's bytes over what a full one adds, `size` less `overlap`, as those
    that follow a text's structure are seldom full; on the shipped corpus twice those there are.
    In memory: the process, the models, 4 bytes a byte of text, and of the largest index 4 d + 8 M +
    340 bytes a chunk, of d numbers and M neighbors. On disk: for each chunker and embedder 12 d +
    8 M + 1,200 bytes a chunk (index, vectors, and their rows), and a record for each question and
    cell of 400 bytes and 410 a hit.
    """
    documents, size = _measure_corpus(Path(config.corpus.path))
    settings, cells = config.settings, config.cells
    chunkers = {part for cell in cells for part in (cell.chunker, hit_chunker(cell.chunker))}
    chunks = {chunker: _estimate_chunks(chunker, size, documents) for chunker in chunkers}
    links = 8 * settings.index.max_neighbors
    pairs = {(cell.chunker, cell.embedder) for cell in cells if cell.embedder is not None}
    indexes = [(chunks[chunker], dimensions(embedder)) for chunker, embedder in pairs]
    graph = max((number * (4 * d + links + 340) for number, d in indexes), default=0)
    cached = sum(number * (12 * d + links + 2 * _ROW_BYTES) for number, d in indexes)
    queries = Path(config.testset.path)
    queries = queries / "queries.jsonl" if queries.is_dir() else queries
    questions = _count_lines(queries, 500) if queries.is_file() else 0
    n_cells = len(cells) + len(config.systems)
    text = f"planned: up to {count(documents, 'document')} of {size / 1e6:.1f} MB"
    text += f", up to about {max(chunks.values()):,} chunks a chunker" if chunks else ""
    return PlannedSize(
        _PROCESS_BYTES + _MEMORY_PER_TEXT_BYTE * size + graph + _model_bytes(used),
        cached + _PLACE_BYTES * sum(chunks.values()),
        questions * n_cells * (_RECORD_BYTES + _HIT_BYTES * settings.retrieve),
        f"{text}, {count(questions, 'question')}, {count(n_cells, 'cell')}",
    )


def dimensions(embedder: Any) -> int:
    """Return how many numbers a vector of an embedder has; 1,024 where its files do not say."""
    declared, model = getattr(embedder, "dimensions", None), getattr(embedder, "model", None)
    if isinstance(declared, int):
        return declared
    with suppress(ModelError, OSError, ValueError, AttributeError, TypeError):
        if model is not None and model_files.is_here(model):
            text = (model_files.locate(model) / "config.json").read_text(encoding="utf-8")
            return int(json.loads(text)["hidden_size"])
    return _DEFAULT_DIMENSIONS


def _model_bytes(used: Services) -> int:
    """Return the memory of the models that are here, and of the libraries under encoders."""
    encoders = 0
    for model in used.encoders:
        with suppress(ModelError, OSError):
            if model_files.is_here(model):
                files = model_files.locate(model).rglob("*")
                encoders += max(file.stat().st_size for file in files if file.is_file())
    chats = sum(path.stat().st_size for _, path in used.files if path.is_file())
    return chats + (_LIBRARY_BYTES + _WEIGHT_COPIES * encoders if encoders else 0)


def _estimate_chunks(chunker: Any, size: int, documents: int) -> int:
    if chunker.name == "whole":
        return documents
    length = getattr(chunker, "size", None) or _DEFAULT_CHUNK_CHARS
    step = max(1, length - (getattr(chunker, "overlap", None) or 0))
    step *= _CHARS_PER_TOKEN if getattr(chunker, "unit", "") == "tokens" else 1
    return int(size / (_MIN_FILL * step)) + documents


def _measure_corpus(path: Path) -> tuple[int, int]:
    """Return the number of documents and their bytes: a file each, or a line or row each."""
    path = path / "corpus.jsonl" if (path / "corpus.jsonl").is_file() else path
    files = [file for file in path.rglob("*") if file.is_file() and file.name[0] != "."]
    lines = [path] if path.is_file() else files
    size = sum(file.stat().st_size for file in lines)
    if path.is_file() or all(file.suffix in (".jsonl", ".tsv") for file in files):
        return sum(_count_lines(file, 2_000) for file in lines), size
    return len(files), size


def _count_lines(path: Path, bytes_per_line: int) -> int:
    """Return a file's lines; of JSON, which may be on one line, an estimate by `bytes_per_line`."""
    if path.suffix == ".json":
        return max(1, path.stat().st_size // bytes_per_line)
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) or 1
