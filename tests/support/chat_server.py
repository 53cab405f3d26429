"""A server on this machine that speaks the OpenAI chat protocol, and keeps what it was asked."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise

from harness.generators import generators
from tests.support.loopback import JSON, Handler, listening

SOON = {"retry-after-ms": "1"}


@dataclass
class Server:
    """What the server was asked, and what it will say; the last reply stays.

    A reply is (status, text), or (status, text, headers) in place of those that hurry a retry; its
    text is what the model says, or where it is bytes the whole body, as it is.
    """

    url: str = ""
    asked: list = field(default_factory=list)
    replies: list = field(default_factory=lambda: [(200, "It is 384,400 km away.")])
    together: threading.Barrier | None = None
    """Where each request waits for others to be there too."""
    running: int = 0
    most: int = 0
    """How many requests were in flight at once, at most."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def chat(self, **parameters):
        spec = {"model": "openai:gpt-test", "base_url": self.url, "retries": 2, **parameters}
        return generators.build({"chat": spec})

    def waits(self):
        """Return the seconds between each request and the one before."""
        times = [asked["at"] for asked in self.asked]
        return [after - before for before, after in pairwise(times)]


def completion(text):
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}}
    choice["message"]["content"] = text
    usage = {"prompt_tokens": 57, "completion_tokens": 9, "total_tokens": 66}
    head = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-test-0613"}
    return {**head, "choices": [choice], "usage": usage}


@contextmanager
def serving() -> Iterator[Server]:
    state = Server()

    class Answering(Handler):
        def do_POST(self):
            body = self.body()
            with state.lock:
                state.running += 1
                state.most = max(state.most, state.running)
                about = {"path": self.path, "key": self.headers["Authorization"]}
                state.asked.append({**about, "at": time.monotonic(), **body})
                status, said, *headers = state.replies[0]
                if len(state.replies) > 1:
                    state.replies.pop(0)
            if state.together:
                state.together.wait(5)
                time.sleep(0.02)  # what is one too many has time to arrive
            with state.lock:
                state.running -= 1  # before the reply, after which the next may come
            if status:
                with suppress(ConnectionError):  # a client that has timed out is gone
                    self.reply(status, said, *headers)

        def reply(self, status, said, headers=SOON):
            reply = completion(said) if status == 200 else {"error": {"message": said}}
            content = said if isinstance(said, bytes) else json.dumps(reply).encode()
            self.send(status, content, {**JSON, **headers})

    with listening(Answering) as url:
        state.url = f"{url}/v1"
        yield state
