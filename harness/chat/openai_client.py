"""The HTTP client that is handed to OpenAI's library: its replies are bounded, and no redirect."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

from harness import wholereply
from harness.errors import StageError

_AS_SENT = ("content-encoding", "content-length", "transfer-encoding")
"""The headers that say how a body came, and nothing of what it is once it is unpacked."""


def bounded(timeout: float) -> Any:
    """Return a client of the kind that the library's own is, whichever release of httpx that is.

    Each reply is read whole before the library sees it: in `timeout` seconds, and 10 MB at most.
    """
    return _kind()(timeout=timeout, headers=wholereply.ASKED_FOR, follow_redirects=False)


@lru_cache(maxsize=1)
def _kind() -> Any:
    from openai import DefaultHttpxClient

    class Bounded(DefaultHttpxClient):
        def send(self, request: Any, **options: Any) -> Any:
            """Send a request, and return the whole reply, unpacked."""
            ends = time.monotonic() + (self.timeout.read or 0)
            reply: Any = super().send(request, **{**options, "stream": True})
            try:
                if reply.has_redirect_location:
                    raise StageError(wholereply.elsewhere(reply))
                content = wholereply.content(reply, ends)
            finally:
                reply.close()
            headers = [each for each in reply.headers.multi_items() if each[0] not in _AS_SENT]
            about = {"request": reply.request, "extensions": reply.extensions}
            return type(reply)(reply.status_code, headers=headers, content=content, **about)

        def __del__(self) -> None:
            # Sockets that are left open would be warned of.
            self.close()

    return Bounded
