"""One request over HTTP, bounded in time and size, and repeated where that may help."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import SplitResult, urlsplit

from harness import wholereply
from harness.errors import StageError
from harness.retrying import Fault, Passing, Tries, fault, refused, within

if TYPE_CHECKING:
    import ssl


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


def send(request: Request, timeout: float, tries: Tries) -> str:
    """Send a request, and return the reply's text.

    Repeated as `tries` has it: after a dropped connection, a timeout, a refusal that may pass and
    an error of the server's own. No redirect is followed. `timeout`, in seconds, is for the whole
    of a request; 10 MB is the largest reply.

    Raises:
        StageError: there was no usable reply.
    """
    try:
        body = tries(partial(within, timeout, partial(_send, request, timeout)))
    except StageError as error:
        raise StageError(f"{error}{tries.unmet}") from None
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StageError(f"the reply is not UTF-8 at byte {error.start}") from None


def _send(request: Request, timeout: float) -> bytes:
    import httpx

    url, sent = httpx.URL(request.url), {"json": request.content}
    if request.method == "GET":
        url, sent = url.copy_merge_params(request.content), {}
    ends = time.monotonic() + timeout
    headers = {**wholereply.ASKED_FOR, **request.headers}
    try:
        # A connection of its own for each: none is left that the server has closed meanwhile.
        with (
            httpx.Client(timeout=timeout, verify=_certificates()) as client,
            client.stream(request.method, url, headers=headers, **sent) as reply,
        ):
            if not reply.is_success:
                raise _refused(reply)
            return wholereply.content(reply, ends)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Passing(f"{type(error).__name__}: {error}", fault(error) or Fault()) from None


def _refused(reply: Any) -> StageError:
    """Return the error that a reply of another status than 200 to 299 is."""
    if reply.has_redirect_location:
        return StageError(wholereply.elsewhere(reply))
    said = f"{reply.status_code} {reply.reason_phrase}".strip()
    found = refused(reply.status_code, reply.headers)
    return StageError(said) if found is None else Passing(said, found)


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Return the certificates that are trusted; reading them takes longer than a request."""
    import httpx

    return httpx.create_ssl_context()
