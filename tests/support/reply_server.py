"""A server on this machine that answers questions in JSON, with the faults that a test asks for."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.support.loopback import Handler, listening


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

    class Answering(Handler):
        def do_POST(self):
            self.answer(self.body())

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
            if slow is None:
                self.send(status, content, headers)
                return
            self.send(status, b"", {"Content-Length": str(len(content)), **headers})
            for at in range(len(content)):
                self.wfile.write(content[at : at + 1])
                self.wfile.flush()
                time.sleep(slow.pause)

    with listening(Answering) as url:
        state.url = f"{url}/ask"
        yield state
