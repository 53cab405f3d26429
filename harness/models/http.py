"""One request over HTTP, bounded in time and size, and repeated where that may help."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache, partial
from threading import TIMEOUT_MAX, Thread
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import SplitResult, urlsplit

from harness import limits
from harness.errors import StageError
from harness.models.retries import describe_wait, retrying

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")

REQUEST_HEADERS = {"Accept-Encoding": "gzip"}
"""The header of a request whose reply is read here; other codings cannot be unpacked in steps."""
_GZIP_OR_ZLIB = 47
_PARTIAL = 206


@dataclass(frozen=True)
class Request:
    """What is sent: `content` as JSON, or with GET as the URL's query."""

    method: Literal["GET", "POST"]
    url: str
    content: Any
    headers: Mapping[str, str]


def url_parts(url: str) -> SplitResult:
    """Return the parts of a URL that can be asked: it is http or https, and names a host.

    Raises:
        ValueError: it is none; it is not repeated, as it may hold a secret.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("url: write it like http://127.0.0.1:8000")
    return parts


def send(request: Request, timeout: float, retries: int, patience: float) -> str:
    """Send a request, and return the reply's text.

    Sent again up to `retries` times, within `patience` seconds, after a dropped connection, a
    timeout, a refusal that may pass and an error of the server's own. No redirect is followed.
    `timeout`, in seconds, is for the whole of a request; 10 MB is the largest reply.

    Raises:
        StageError: there was no usable reply.
    """
    import httpx

    once = partial(_call_within, timeout, partial(_send, request, timeout))
    try:
        return retrying(retries, patience)(once).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StageError(f"the reply is not UTF-8 at byte {error.start}") from None
    except (TimeoutError, httpx.TimeoutException):
        raise StageError(f"timed out: no whole reply in {timeout:g} s") from None
    except httpx.HTTPStatusError as error:
        status = describe_status(error.response)
        raise StageError(f"{status}{describe_wait(error)}") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise StageError(f"{type(error).__name__}: {error}") from None


def _call_within(seconds: float, call: Callable[[], T]) -> T:
    """Return what `call` gives within so many seconds; after them it is left to itself.

    The time-outs of HTTP libraries are for each wait: a server that sends a byte a second meets
    none of them.

    Raises:
        TimeoutError: it took longer.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001  it is raised where the result is taken
            future.set_exception(error)

    Thread(target=run, name="request", daemon=True).start()
    try:
        return future.result(min(seconds, TIMEOUT_MAX))
    except TimeoutError:
        if future.done():
            raise
        raise TimeoutError(f"no whole reply in {seconds:g} s") from None


def _send(request: Request, timeout: float) -> bytes:
    import httpx

    url, sent = httpx.URL(request.url), {"json": request.content}
    if request.method == "GET":
        url, sent = url.copy_merge_params(request.content), {}
    since = time.monotonic()
    headers = {**REQUEST_HEADERS, **request.headers}
    # A connection of its own for each: none is left that the server has closed meanwhile.
    with (
        httpx.Client(timeout=timeout, verify=_certificates()) as client,
        client.stream(request.method, url, headers=headers, **sent) as reply,
    ):
        if reply.has_redirect_location:
            raise StageError(describe_redirect(reply))
        reply.raise_for_status()
        return read_content(reply, since, timeout)


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Return the certificates that are trusted; reading them takes longer than a request."""
    import httpx

    return httpx.create_ssl_context()


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
