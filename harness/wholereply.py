"""A reply over HTTP, read whole: so many bytes at most, unpacked, and until a given time."""

from __future__ import annotations

import time
import zlib
from typing import Any

from harness.errors import StageError
from harness.retrying import Fault, Passing

ASKED_FOR = {"Accept-Encoding": "gzip"}
"""The header of a request whose reply is read here; other codings cannot be unpacked in steps."""
_LARGEST = 10_000_000
_GZIP_OR_ZLIB = 47


def content(reply: Any, ends: float) -> bytes:
    """Return the bytes of a reply of httpx's kind, of which nothing has been read; `ends` is when.

    Raises:
        Passing: it took longer.
        StageError: it is too large, or packed in a way that nobody asked for.
    """
    packed = reply.headers.get("content-encoding", "").strip().lower()
    if packed not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise StageError(f"the reply's content-encoding is {packed[:30]!r}: gzip was asked for")
    unpack = None if packed in ("", "identity") else zlib.decompressobj(_GZIP_OR_ZLIB)
    body = bytearray()
    for piece in reply.iter_raw():
        try:
            body += unpack.decompress(piece, _LARGEST + 1 - len(body)) if unpack else piece
        except zlib.error:
            raise StageError(f"the reply is not {packed}, as its content-encoding says") from None
        if len(body) > _LARGEST:
            raise StageError(f"the reply is larger than {_LARGEST:,} bytes")
        if time.monotonic() > ends:
            raise Passing("timed out: the reply had only begun", Fault(busy=True))
    if unpack and body and not unpack.eof:
        raise StageError("the reply ends before its last byte")
    return bytes(body)


def elsewhere(reply: Any) -> str:
    """Return where a redirect leads, without a secret; it is not followed."""
    where = reply.next_request.url.copy_with(query=None, userinfo=b"")
    said = f"{reply.status_code} {reply.reason_phrase}".strip()
    return f"{said}: it is elsewhere, and no redirect is followed: put {where} first"
