"""Cache of conversions, keyed by the content of the file and the converter.

Files are converted in a separate process, which may hang, crash or run out of memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

from harness import limits
from harness.cache.folders import Cache
from harness.corpus.converting import FORMATS, ConvertedFile, check_libraries
from harness.errors import HarnessError, Problem
from harness.records import Document

_HINT = "divide it, or leave it out: on_error: skip, or a narrower `glob`"


class Worker:
    """A converting process, started for the first file, and again where a file has ended it."""

    def __init__(self, patience: float = limits.CONVERSION_SECONDS) -> None:
        self.patience = patience
        self._process: subprocess.Popen[bytes] | None = None

    def convert(self, raw: bytes, suffix: str, where: str) -> ConvertedFile | Problem:
        """Return the text of a file, or why there is none."""
        if len(raw) > limits.MAX_CONVERTED_FILE_BYTES:
            bound = f"{limits.MAX_CONVERTED_FILE_BYTES >> 20} is the most that is converted"
            message = f"has {len(raw) >> 20} MB, and {bound}"
            return Problem(where, message, _HINT)
        process = self._process = self._process or subprocess.Popen(
            [sys.executable, "-P", "-m", "harness.corpus.converting"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        late = Timer(self.patience, process.kill)
        late.start()
        try:
            answer = _request_conversion(process, raw, suffix, where)
        finally:
            in_time = late.is_alive()
            late.cancel()
        if answer is None or not in_time:
            self.close()
        if answer is None:
            message = "makes its converter crash, or use more memory than it may"
            if not in_time:
                message = f"takes more than {self.patience:g} seconds to convert"
            return Problem(where, message, _HINT)
        if "problem" in answer:
            return Problem(*answer["problem"])
        return ConvertedFile(*answer["converted"])

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            with suppress(OSError), self._process:  # there may be what it was not sent
                self._process.kill()
            self._process = None


def _request_conversion(
    process: subprocess.Popen[bytes], raw: bytes, suffix: str, where: str
) -> dict[str, Any] | None:
    """Return the answer of the process; None where it has ended without one."""
    assert process.stdin is not None
    assert process.stdout is not None
    question = {"suffix": suffix, "where": where, "size": len(raw)}
    try:
        process.stdin.write(json.dumps(question).encode() + b"\n" + raw)
        process.stdin.flush()
    except OSError:
        return None
    line = process.stdout.readline()
    if not line.endswith(b"\n"):
        return None
    answer: dict[str, Any] = json.loads(line)
    return answer


_KIND = "documents"


@dataclass(frozen=True)
class ConversionOrigin:
    """What a document's text was made from, and by what."""

    source: str
    """`sha256:` and the hash of the file."""
    converter: str


@dataclass(frozen=True)
class Composed:
    """A document whose text no file holds as it is, and what it was made from."""

    document: Document
    origin: ConversionOrigin


class Conversions:
    """Converts files, and ends the process that does so when it is closed.

    The cache is opened for the first file alone; where it cannot be, nothing is kept.
    """

    def __init__(self, cache: Path | None, fresh: bool = False) -> None:
        self._root = cache
        self._fresh = fresh
        self._cache: Cache | None = None
        self._worker = Worker()

    def close(self) -> None:
        """End the process, and close the cache."""
        self._worker.close()
        if self._cache is not None:
            self._cache.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the run should know of the cache."""
        return () if self._cache is None else tuple(self._cache.warnings)

    def convert(
        self, raw: bytes, suffix: str, where: str
    ) -> tuple[ConvertedFile, ConversionOrigin] | Problem:
        """Return what a file says, from the cache if it is there, or why it cannot be said.

        Raises:
            MissingExtra: the library for it is not installed.
        """
        check_libraries(suffix, where)
        digest = hashlib.sha256(raw).hexdigest()
        origin = ConversionOrigin(f"sha256:{digest}", FORMATS[suffix].name)
        cache, about = self._open_cache(), {"suffix": suffix, "converter": origin.converter}
        table = cache and cache.table(_KIND, ConvertedFile, about, counted=False)
        cached = table.get([digest]).get(digest) if table else None
        if cached is not None:
            return cached, origin
        result = self._worker.convert(raw, suffix, where)
        if isinstance(result, Problem):
            return result
        if table:
            table.put({digest: result})
        return result, origin

    def _open_cache(self) -> Cache | None:
        if self._cache is None and self._root is not None:
            with suppress(HarnessError):  # a run says it when it opens the cache itself
                self._cache = Cache(self._root, self._fresh)
            if self._cache is None:
                self._root = None
        return self._cache
