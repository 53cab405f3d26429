"""A chat server on this machine that speaks the OpenAI protocol, and says what a function says."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.support.loopback import JSON, Handler, listening

SOON = {"retry-after-ms": "1"}
"""A header that hurries the next try."""
LABEL = "(?:Answer|Context|Passage|Question|References|Statement|Text):"


@dataclass
class Chat:
    """What the server was asked, and `says`, which makes a reply of a prompt.

    A reply is a text, or a status with a text or with a whole body as bytes; 0 is no reply at all.
    """

    says: Callable[[str], object]
    url: str = ""
    requests: list[dict] = field(default_factory=list)
    gate: threading.Event | None = None
    """What each request waits for before it is answered, for five seconds at most."""
    running: int = 0
    most: int = 0
    """How many requests were in flight at once, at most."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def prompts(self) -> list[str]:
        return [request["messages"][-1]["content"] for request in self.requests]

    def settings(self, name: str = "judge", **more: object) -> dict:
        """Return this server as `judge` and `chat` have it in a configuration."""
        return {"model": f"openai:{name}", "base_url": self.url, "retries": 0, **more}


def part(prompt: str, name: str) -> str:
    """Return what stands behind a label of a judge's prompt, up to the next label."""
    material = prompt.rpartition("\n\n")[0]
    pattern = rf"^{name}:\s(.*?)(?=\n\n{LABEL}\s|\Z)"
    match = re.search(pattern, material, re.DOTALL | re.MULTILINE)
    return match[1] if match else ""


def best(prompt: str) -> str:
    """Return the best verdict that there is."""
    return "yes\nIt says so." if "\nStatement: " in prompt else "3\nIt is all there."


def completion(text: str) -> dict:
    """Return a reply of the OpenAI protocol."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "served",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 57, "completion_tokens": 9, "total_tokens": 66},
    }


@contextmanager
def serving(says: Callable[[str], object] = best) -> Iterator[Chat]:
    chat = Chat(says)

    class Answering(Handler):
        def do_POST(self) -> None:
            body = self.body()
            with chat.lock:
                chat.running += 1
                chat.most = max(chat.most, chat.running)
                chat.requests.append(body)
            said = chat.says(body["messages"][-1]["content"])
            if chat.gate:
                chat.gate.wait(5)
            with chat.lock:
                chat.running -= 1
            status, text = said if isinstance(said, tuple) else (200, said)
            if not status:
                return
            reply = completion(text) if status == 200 else {"error": {"message": text}}
            content = text if isinstance(text, bytes) else json.dumps(reply).encode()
            with suppress(ConnectionError):  # a client that no longer waits is gone
                self.send(status, content, {**JSON, **SOON})

    with listening(Answering) as url:
        chat.url = f"{url}/v1"
        yield chat


def rows(path) -> list[dict]:
    """Return the rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
