"""A server on this machine that speaks the OpenAI embeddings protocol, and keeps what it got."""

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from harness.embedders import embedders
from tests.support.loopback import Handler, listening

OPENAI = "langchain_openai:OpenAIEmbeddings"


def vector(text, size=8):
    """Return the numbers that the server gives a text: any, and not of length 1."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=size).tolist()


@dataclass
class Server:
    """What the server was asked, and what it will say; the last reply stays.

    A reply is a status, or a function from the texts to the vectors it gives.
    """

    url: str = ""
    asked: list = field(default_factory=list)
    replies: list = field(default_factory=lambda: [lambda texts: [vector(each) for each in texts]])

    def embedder(self, **parameters):
        arguments = {"model": "text-test", "base_url": self.url}
        arguments |= {"check_embedding_ctx_length": False, **parameters.pop("arguments", {})}
        spec = {"cls": OPENAI, "arguments": arguments, "retries": 0, **parameters}
        return embedders.build({"langchain": spec})


@contextmanager
def serving() -> Iterator[Server]:
    state = Server()

    class Answering(Handler):
        def do_POST(self):
            body = self.body()
            about = {"key": self.headers["Authorization"], "at": time.monotonic()}
            state.asked.append({"texts": body["input"], "model": body["model"], **about})
            said = state.replies[0]
            if len(state.replies) > 1:
                state.replies.pop(0)
            if callable(said):
                rows = enumerate(said(body["input"]))
                data = [{"object": "embedding", "index": at, "embedding": row} for at, row in rows]
                usage = {"prompt_tokens": 1, "total_tokens": 1}
                self.reply(200, {"object": "list", "data": data, "model": "m", "usage": usage})
            else:
                about = f"no: {self.headers['Authorization']}"
                self.reply(said, {"error": {"message": about}})

        def reply(self, status, said):
            self.send(status, json.dumps(said).encode())

    with listening(Answering) as url:
        state.url = f"{url}/v1"
        yield state
