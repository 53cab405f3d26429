"""A batch of rows as one object: keys, lengths, a checksum of both, then the values.

The name says how many rows there are, so that the keys can be read without the values. Before each
value lies a checksum of its key and itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KEY = 16
"""Bytes of a key."""
SUM = 8
"""Bytes of a value's checksum, which lies before it."""
_MAGIC = b"HARNROW1"
_HEAD_SUM = 16
_MOST = 1_000_000
"""More rows than a batch has; a name that says more is not one of ours."""
_NAME = re.compile(r"([0-9a-f]{32})-(\d{1,7})\.rows")
_TYPE = f"S{KEY}"
"""Numpy compares such by their bytes, and all have the same length, so its rule for NUL is none."""

Keys = NDArray[np.bytes_]
"""Keys, each of 16 bytes."""
Places = NDArray[np.int64]
"""Where things lie."""


@dataclass(frozen=True)
class Batch:
    """Where the values of a batch lie: the first begins at `start`, each ends where `ends` says."""

    name: str
    start: int
    ends: Places

    def place(self, row: int) -> tuple[int, int]:
        """Return where the value of a row begins, its checksum first, and where it ends."""
        return (int(self.ends[row - 1]) if row else self.start), int(self.ends[row])


def keyed(keys: Sequence[bytes]) -> Keys:
    """Return keys as an array.

    Raises:
        ValueError: one has not 16 bytes.
    """
    if any(len(key) != KEY for key in keys):
        raise ValueError(f"keys of shared rows have {KEY} bytes")
    return np.frombuffer(b"".join(keys), dtype=_TYPE)


def encoded(rows: Mapping[bytes, bytes]) -> tuple[str, bytes]:
    """Return the name of a batch of rows, and its bytes."""
    keys = sorted(rows)
    lengths = np.array([SUM + len(rows[key]) for key in keys], dtype="<u4")
    head = _MAGIC + b"".join(keys) + lengths.tobytes()
    values = b"".join(part for key in keys for part in (value_sum(key, rows[key]), rows[key]))
    raw = head + _digest(head, _HEAD_SUM) + values
    return f"{_digest(raw, 16).hex()}-{len(keys)}.rows", raw


def header_bytes(name: str, size: int) -> int | None:
    """Return how long the header of a batch of this name and size is; None: it is none of ours."""
    found = _NAME.fullmatch(name)
    if found is None or not 0 < int(found[2]) <= _MOST:
        return None
    length = len(_MAGIC) + int(found[2]) * (KEY + 4) + _HEAD_SUM
    return length if length <= size else None


def header(name: str, raw: bytes, size: int) -> tuple[Keys, Batch] | None:
    """Return the keys of a batch of so many bytes, sorted, and where their values lie.

    None: the header is damaged, or the batch cut.
    """
    body, sum_ = raw[:-_HEAD_SUM], raw[-_HEAD_SUM:]
    if not body.startswith(_MAGIC) or _digest(body, _HEAD_SUM) != sum_:
        return None
    count = (len(body) - len(_MAGIC)) // (KEY + 4)
    at = len(_MAGIC) + count * KEY
    keys = np.frombuffer(body, dtype=_TYPE, count=count, offset=len(_MAGIC))
    ends = len(raw) + np.cumsum(np.frombuffer(body, dtype="<u4", offset=at), dtype=np.int64)
    return (keys, Batch(name, len(raw), ends)) if ends[-1] == size else None


def value_of(key: bytes, raw: bytes) -> bytes | None:
    """Return the value in what lies at a row's place; None: it is damaged, or of another key."""
    sum_, value = raw[:SUM], raw[SUM:]
    return value if sum_ == value_sum(key, value) else None


def value_sum(key: bytes, value: bytes) -> bytes:
    """Return the checksum of a row."""
    return _digest(key + value, SUM)


def _digest(raw: bytes, size: int) -> bytes:
    return hashlib.blake2b(raw, digest_size=size).digest()
