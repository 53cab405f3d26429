"""The HTTP client for OpenAI's library: it bounds replies and refuses redirects."""

from __future__ import annotations

import json
import time
from functools import lru_cache
from importlib import import_module
from typing import Any

from harness.errors import StageError
from harness.models import http

_AS_SENT = ("content-encoding", "content-length", "transfer-encoding")
"""The headers that say how a body came, and nothing of what it is once it is unpacked."""


def bounded_client(timeout: float) -> Any:
    """Return a client of the kind that the library's own is, whichever release of httpx that is.

    Each reply is read whole before the library sees it: 10 MB at most, and one whose body is not
    there in `timeout` seconds has timed out.
    """
    return _bounded_class()(timeout=timeout, headers=http.REQUEST_HEADERS, follow_redirects=False)


def _check_text(content: bytes) -> None:
    """Raise `StageError` for a reply whose text is null, which the library takes for an empty one.

    A reply of another form is left to the library.
    """
    try:
        message = json.loads(content)["choices"][0]["message"]
        null = message["content"] is None
    except (ValueError, LookupError, TypeError):
        return
    if null:
        why = message.get("refusal")
        raise StageError(f"the reply has no text: its content is null{f' ({why})' if why else ''}")


@lru_cache(maxsize=1)
def _bounded_class() -> Any:
    from openai import DefaultHttpxClient

    library = import_module(DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])

    class Bounded(DefaultHttpxClient):
        def send(self, request: Any, **options: Any) -> Any:
            """Send a request, and return the whole reply, unpacked."""
            since = time.monotonic()
            reply: Any = super().send(request, **{**options, "stream": True})
            try:
                if reply.has_redirect_location:
                    raise StageError(http.describe_redirect(reply))
                content = http.read_content(reply, since, self.timeout.read or 0)
                _check_text(content)
            except TimeoutError as late:
                raise library.ReadTimeout(str(late), request=request) from None
            finally:
                reply.close()
            headers = [
                header for header in reply.headers.multi_items() if header[0] not in _AS_SENT
            ]
            about = {"request": reply.request, "extensions": reply.extensions}
            return type(reply)(reply.status_code, headers=headers, content=content, **about)

        def __del__(self) -> None:
            # Sockets that are left open would be warned of.
            self.close()

    return Bounded
