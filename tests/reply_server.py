"""A server on this machine that answers questions in JSON, with the faults that a test asks for."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Drop:
    """The connection is closed without a reply."""


@dataclass(frozen=True)
class Trickle:
    """A reply that comes a byte at a time, `pause` seconds apart."""

    pause: float
    bytes: int


@dataclass
class Replying:
    """What the server was asked, and what it will say; the last reply stays.

    A reply is a JSON value, bytes as they are, a fault, or (status, reply, headers).
    """

    url: str = ""
    asked: list = field(default_factory=list)
    replies: list = field(default_factory=list)
    by_question: Any = None
    """A function of the question, in the place of `replies`."""


@contextmanager
def replying() -> Iterator[Replying]:
    state, lock = Replying(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def do_GET(self):
            self.answer(None)

        def answer(self, body):
            with lock:
                asked = {"method": self.command, "path": self.path, "body": body}
                state.asked.append({**asked, "headers": dict(self.headers), "at": time.monotonic()})
                reply = state.replies[0] if state.replies else None
                if len(state.replies) > 1:
                    state.replies.pop(0)
            if state.by_question is not None:
                reply = state.by_question(body)
            with suppress(ConnectionError):  # a client that has timed out is gone
                self.say(reply)

        def say(self, reply):
            status, headers = 200, {}
            if isinstance(reply, tuple):
                status, reply, headers = reply
            if isinstance(reply, Drop):
                return
            slow = reply if isinstance(reply, Trickle) else None
            content = b"x" * slow.bytes if slow else reply
            content = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            for at in range(len(content) if slow else 0):
                self.wfile.write(content[at : at + 1])
                self.wfile.flush()
                time.sleep(slow.pause)
            if not slow:
                self.wfile.write(content)

        def log_message(self, *_):
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        state.url = f"http://127.0.0.1:{listening.server_port}/ask"
        try:
            yield state
        finally:
            listening.shutdown()
            thread.join()
