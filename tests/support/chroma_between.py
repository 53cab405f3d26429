"""What may stand before a Chroma server: it passes on what it is sent, or what it is told to."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx


@dataclass
class Between:
    """A server on this machine that passes requests on to another.

    Each request is noted as its last word and its body's bytes. `limit` is the most bytes that are
    let through; `refused` gives a status, a type and a text in place of the answer, or None;
    `changed` may alter what comes back.
    """

    url: str
    behind: str
    limit: int = 2**40
    refused: Callable[[str], tuple[int, str, str] | None] = lambda what: None
    changed: Callable[[str, dict], dict] = lambda what, answer: answer
    asked: list[tuple[str, int]] = field(default_factory=list)
    too_large: int = 0


class _Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _pass(self):
        about = self.server.between
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        what = self.path.partition("?")[0].rpartition("/")[2]
        about.asked.append((what, len(body)))
        if len(body) > about.limit:
            about.too_large += 1
            return self._reply(413, "text/plain", b"Payload too large")
        refused = about.refused(what)
        if refused is not None:
            status, kind, text = refused
            return self._reply(status, kind, text.encode())
        kept = {"Content-Type": "application/json"}
        there = self.server.client.request(
            self.command, about.behind + self.path, content=body, headers=kept
        )
        said = there.content
        if there.is_success and said[:1] == b"{":
            said = json.dumps(about.changed(what, there.json())).encode()
        return self._reply(there.status_code, "application/json", said)

    do_GET = do_POST = do_PUT = do_DELETE = _pass

    def _reply(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Keep quiet."""


@contextmanager
def between(behind: str) -> Iterator[Between]:
    """Stand before the server at a URL."""
    with (
        httpx.Client(timeout=60) as client,
        ThreadingHTTPServer(("127.0.0.1", 0), _Passing) as server,
    ):
        server.daemon_threads, server.client = True, client
        server.between = Between(f"http://127.0.0.1:{server.server_port}", behind)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.between
        finally:
            server.shutdown()
            thread.join()
