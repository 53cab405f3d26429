"""A folder as one stream of bytes, and back: a list of names and sizes, then what the files hold.

There are no links, modes or devices in it, and nothing is compressed: it takes as much room as its
bytes. Names are looked at before anything is written, and every byte is held to a checksum.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

_MAGIC = b"HARNESS1"
_HEAD = struct.Struct("<8sQQ32s32s")
"""What it is, the bytes of the list and of all files, and the checksums of either."""
_LIST, _PARTS, _NAME = 16 << 20, 16, 255
"""The most bytes of a list, parts of a name, and bytes of a part."""
_BLOCK = 1 << 20


class Damaged(Exception):
    """What was read is not what was packed."""


class Reading(Protocol):
    """What can be read on from where it stands."""

    def read(self, most: int, /) -> bytes:
        """Return at most so many bytes; none at the end."""
        ...


def pack(folder: Path, file: BinaryIO) -> None:
    """Write the files below `folder`, which nobody may be changing.

    Raises:
        OSError: one cannot be read, or has changed meanwhile.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    sizes = [path.stat().st_size for path in paths]
    names = [path.relative_to(folder).as_posix() for path in paths]
    listed = json.dumps(list(zip(names, sizes, strict=True))).encode()
    digest = hashlib.sha256()
    file.write(bytes(_HEAD.size))
    file.write(listed)
    for path, size in zip(paths, sizes, strict=True):
        with path.open("rb") as source:
            try:
                for block in _blocks(source, size):
                    digest.update(block)
                    file.write(block)
            except Damaged:
                raise OSError(errno.EBUSY, "a file of it is being changed") from None
    file.seek(0)
    sums = hashlib.sha256(listed).digest(), digest.digest()
    file.write(_HEAD.pack(_MAGIC, len(listed), sum(sizes), *sums))


def unpack(file: Reading, into: Path) -> None:
    """Write the files of a stream into a folder, which is empty.

    Raises:
        Damaged: it is not what was packed; some files may have been written.
        OSError: there is no room, or it cannot be read.
    """
    head = _exactly(file, _HEAD.size)
    magic, length, total, list_sum, sum_ = _HEAD.unpack(head)
    if magic != _MAGIC or length > _LIST:
        raise Damaged
    listed = _exactly(file, length)
    if hashlib.sha256(listed).digest() != list_sum:
        raise Damaged
    sizes = _checked(listed, total)
    if total > shutil.disk_usage(into).free:
        raise OSError(errno.ENOSPC, "no room on this machine for what is there")
    digest = hashlib.sha256()
    for name, size in sizes:
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as made:
            for block in _blocks(file, size):
                digest.update(block)
                made.write(block)
    if digest.digest() != sum_ or file.read(1):
        raise Damaged


def _checked(listed: bytes, total: int) -> list[tuple[str, int]]:
    """Return names and sizes, if none leads out of its folder and they come to `total`."""
    try:
        sizes = [(str(name), int(size)) for name, size in json.loads(listed)]
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise Damaged from None
    names = {name for name, _ in sizes}
    parents = {str(parent) for name in names for parent in Path(name).parents}
    sound = (
        len(names) == len(sizes)
        and not names & parents
        and all(_inside(name) for name in names)
        and all(size >= 0 for _, size in sizes)
        and sum(size for _, size in sizes) == total
    )
    if not sound:
        raise Damaged
    return sizes


def _inside(name: str) -> bool:
    parts = name.split("/")
    return len(parts) <= _PARTS and all(
        part not in ("", ".", "..")
        and part.isprintable()
        and not set(part) & set('\\:*?"<>|')
        and len(part.encode()) <= _NAME
        for part in parts
    )


def _blocks(file: Reading, size: int) -> Iterator[bytes]:
    """Yield exactly so many bytes."""
    while size:
        block = file.read(min(size, _BLOCK))
        if not block:
            raise Damaged
        size -= len(block)
        yield block


def _exactly(file: Reading, size: int) -> bytes:
    return b"".join(_blocks(file, size))
