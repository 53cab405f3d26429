"""One request over HTTP, bounded in time and size, and repeated where that may help."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import SplitResult, urlsplit

from harness.errors import StageError

if TYPE_CHECKING:
    import ssl

    from tenacity import RetryCallState

_LARGEST = 10_000_000
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0
_WORTH_REPEATING = frozenset({408, 429, 500, 502, 503, 504})


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


class _Again(StageError):
    """It may go better next time; `after` are the seconds that the server asks to wait."""

    def __init__(self, what: str, after: float | None = None) -> None:
        super().__init__(what)
        self.after = after


def send(request: Request, timeout: float, retries: int) -> str:
    """Send a request, and return the reply's text.

    Repeated after a dropped connection, a timeout, 408, 429 and 5xx, up to `retries` times, with
    growing pauses or those of the reply's `Retry-After`, a minute at most. No redirect is followed.
    `timeout`, in seconds, is for each wait for the server, and once the text of a reply comes for
    all of the request; 10 MB is the largest reply.

    Raises:
        StageError: there was no usable reply.
    """
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

    repeated = Retrying(
        stop=stop_after_attempt(retries + 1),
        wait=_pause,
        retry=retry_if_exception_type(_Again),
        reraise=True,
    )
    text: str = repeated(_send, request, timeout)
    return text


def _send(request: Request, timeout: float) -> str:
    import httpx

    url, sent = httpx.URL(request.url), {"json": request.content}
    if request.method == "GET":
        url, sent = url.copy_merge_params(request.content), {}
    ends = time.monotonic() + timeout
    try:
        # A connection of its own for each: none is left that the server has closed meanwhile.
        with (
            httpx.Client(timeout=timeout, verify=_certificates()) as client,
            client.stream(request.method, url, headers=request.headers, **sent) as reply,
        ):
            _check(reply)
            body = bytearray()
            for piece in reply.iter_bytes():
                body += piece
                if len(body) > _LARGEST:
                    raise StageError(f"the reply is larger than {_LARGEST:,} bytes")
                if time.monotonic() > ends:
                    raise _Again(f"no whole reply in {timeout:g} s")
    except httpx.TimeoutException:
        raise _Again(f"no reply in {timeout:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _Again(f"{type(error).__name__}: {error}") from None
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StageError(f"the reply is not UTF-8 at byte {error.start}") from None


def _check(reply: Any) -> None:
    """Raise `StageError` for a reply of another status than 200 to 299."""
    if reply.is_success:
        return
    said = f"{reply.status_code} {reply.reason_phrase}".strip()
    if reply.has_redirect_location:
        where = str(reply.next_request.url.copy_with(query=None, userinfo=b""))
        raise StageError(f"{said}: it is elsewhere, and no redirect is followed: put {where} first")
    if reply.status_code in _WORTH_REPEATING:
        raise _Again(said, _asked_to_wait(reply.headers.get("Retry-After")))
    raise StageError(said)


def _asked_to_wait(header: str | None) -> float | None:
    """Return the seconds that a `Retry-After` asks for: it holds a number of them, or a date."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(seconds, 0.0), _LONGEST_WAIT) if seconds == seconds else None


def _pause(state: RetryCallState) -> float:
    assert state.outcome is not None
    error = state.outcome.exception()
    if isinstance(error, _Again) and error.after is not None:
        return error.after
    pause: float = _FIRST_WAIT * 2 ** (state.attempt_number - 1)
    return min(pause, _LONGEST_WAIT)


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Return the certificates that are trusted; reading them takes longer than a request."""
    import httpx

    return httpx.create_ssl_context()
