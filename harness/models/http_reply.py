"""Reads a whole HTTP reply: bounded in bytes and time, and decompressed."""

from __future__ import annotations

import time
import zlib
from typing import Any

from harness import limits
from harness.errors import StageError

REQUEST_HEADERS = {"Accept-Encoding": "gzip"}
"""The header of a request whose reply is read here; other codings cannot be unpacked in steps."""
_GZIP_OR_ZLIB = 47
_PARTIAL = 206


def read_content(reply: Any, since: float, seconds: float) -> bytes:
    """Return the bytes of a reply of httpx's kind, of which nothing has been read.

    It has to be there `seconds` after `since`, which is a `time.monotonic`.

    Raises:
        TimeoutError: it took longer.
        StageError: it is a part, too large, or packed in a way that nobody asked for.
    """
    if reply.status_code == _PARTIAL:
        raise StageError(f"{describe_status(reply)}: a part of a reply is none")
    packed = reply.headers.get("content-encoding", "").strip().lower()
    if packed not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise StageError(f"the reply's content-encoding is {packed[:30]!r}: gzip was asked for")
    unpack = None if packed in ("", "identity") else zlib.decompressobj(_GZIP_OR_ZLIB)
    body = bytearray()
    for piece in reply.iter_raw():
        try:
            body += (
                unpack.decompress(piece, limits.MAX_REPLY_BYTES + 1 - len(body))
                if unpack
                else piece
            )
        except zlib.error:
            raise StageError(f"the reply is not {packed}, as its content-encoding says") from None
        if len(body) > limits.MAX_REPLY_BYTES:
            raise StageError(f"the reply is larger than {limits.MAX_REPLY_BYTES:,} bytes")
        if time.monotonic() > since + seconds:
            raise TimeoutError(f"no whole reply in {seconds:g} s")
    if unpack and body and not unpack.eof:
        raise StageError("the reply ends before its last byte")
    return bytes(body)


def describe_redirect(reply: Any) -> str:
    """Return where a redirect leads, without a secret; it is not followed."""
    where = reply.next_request.url.copy_with(query=None, userinfo=b"")
    return (
        f"{describe_status(reply)}: it is elsewhere, and no redirect is followed: put {where} first"
    )


def describe_status(reply: Any) -> str:
    """Return a reply's status in number and words."""
    return f"{reply.status_code} {reply.reason_phrase}".strip()
