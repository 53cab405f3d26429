"""A server on this machine that a test brings up, and what the handlers of its requests share."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON = {"Content-Type": "application/json"}


class Handler(BaseHTTPRequestHandler):
    def body(self):
        """Return the JSON value that was sent."""
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def send(self, status: int, content: bytes, headers: Mapping[str, str] = JSON) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Keep quiet."""


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Answer requests, each in a thread of its own, and yield the URL of the server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
