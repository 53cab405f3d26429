"""Documents of strangers by the ten thousand: each is read, or refused in words."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from harness.corpus.converting.conversion_cache import Worker
from tests.fuzzing import documents
from torture.ordeal import Ordeal

CASES = int(os.environ.get("HARNESS_FUZZ_DOCUMENTS", 50_000))
_SEED = 9
_SLOW = 30.0
"""Seconds of one case."""
_DEAR = frozenset({".pdf", ".docx", ".pptx", ".html"})
"""Of these, which take some hundredths of a second each, a tenth of the cases are."""


def text() -> Ordeal:
    """Mutate each kind of document, and read it as a corpus is read, and by every chunker."""
    shares = {suffix: 1 if suffix in _DEAR else 6 for suffix in documents.SOUND}
    said: list[str] = []
    cases = 0
    with tempfile.TemporaryDirectory() as folder:
        for suffix, share in shares.items():
            many = -(-CASES * share // sum(shares.values()))
            said += _fuzzed(suffix, many, Path(folder))
            cases += many
    return Ordeal("documents of strangers, fuzzed by form", cases, said)


def _fuzzed(suffix: str, cases: int, folder: Path) -> list[str]:
    said = []
    worker = Worker()
    try:
        for number in range(cases):
            raw = documents.case(suffix, _SEED, number)
            started = time.perf_counter()
            problem = documents.wrong(suffix, raw, folder, worker)
            if problem is None and time.perf_counter() - started > _SLOW:
                problem = f"took {time.perf_counter() - started:.0f} s"
            if problem is not None:
                said.append(f"{suffix}, seed {_SEED}, case {number}: {problem}")
    finally:
        worker.close()
    return said
