"""A chat model of OpenAI's kind with a stated latency and a stated limit: no model, only the wait.

python -m benchmarks.slow_server '{"places": 8, "tells": 1}'    # prints its port
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from dataclasses import asdict, dataclass, field

SLOW, SLOWEST = 0.01, 2.0
LEAST, MOST = 0.1, 0.3
MEAN = (1 - SLOW) * (LEAST + MOST) / 2 + SLOW * SLOWEST
"""Seconds of a reply: 0.2 +- 50 %, and of one in a hundred 2."""
TOKENS_IN, TOKENS_OUT = 900, 100
"""Tokens that a reply says it took."""


@dataclass
class Server:
    """What it bears, and what it was asked.

    `places` requests at once, from second `since` until `until` only `fewer`; `rate` a second with
    `burst` at once, each being `cost`. `tells` is the Retry-After of a refusal: seconds, or -1 for
    how long the bucket takes.
    """

    places: int | None = None
    fewer: int | None = None
    since: float = 0.0
    until: float = 0.0
    rate: float | None = None
    burst: float = 0.0
    cost: float = 1.0
    tells: float | None = None
    asked: int = 0
    refused: int = 0
    running: int = 0
    most: int = 0
    seconds: float = 0.0
    """From the first request to the last answer."""
    _level: float = field(default=0.0, repr=False)
    _at: float = field(default=0.0, repr=False)
    _first: float = field(default=0.0, repr=False)

    def takes(self) -> bool:
        """Return whether it takes one more request now."""
        now = time.monotonic()
        if not self.asked:
            self._first = self._at = now
            self._level = self.burst
        self.asked += 1
        places = self.places
        if self.fewer is not None and self.since <= now - self._first < self.until:
            places = self.fewer
        if places is not None and self.running >= places:
            return False
        if self.rate is not None:
            self._level = min(self.burst, self._level + (now - self._at) * self.rate)
            self._at = now
            if self._level < self.cost:
                return False
            self._level -= self.cost
        return True

    def headers(self) -> str:
        """Return the headers of a refusal."""
        if self.tells is None:
            return ""
        wait = self.tells
        if wait < 0:
            assert self.rate is not None
            wait = round((self.cost - self._level) / self.rate, 3)
        return f"Retry-After: {wait:g}\r\n"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length or 0))
                if head.startswith(b"get"):
                    content, status, headers = json.dumps(asdict(self)), "200 OK", ""
                elif self.takes():
                    self.running += 1
                    self.most = max(self.most, self.running)
                    slow = random.random() < SLOW
                    await asyncio.sleep(SLOWEST if slow else random.uniform(LEAST, MOST))
                    self.running -= 1
                    self.seconds = time.monotonic() - self._first
                    content, status, headers = REPLY, "200 OK", ""
                else:
                    self.refused += 1
                    content, status = '{"error": {"message": "too many"}}', "429 Too Many Requests"
                    headers = self.headers()
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}"
                    f"Content-Length: {len(content)}\r\n\r\n{content}".encode()
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


REPLY = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "slow",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "It is what the record says."},
            }
        ],
        "usage": {
            "prompt_tokens": TOKENS_IN,
            "completion_tokens": TOKENS_OUT,
            "total_tokens": TOKENS_IN + TOKENS_OUT,
        },
    }
)


async def _serve(server: Server) -> None:
    listening = await asyncio.start_server(server.answer, "127.0.0.1", 0)
    print(listening.sockets[0].getsockname()[1], flush=True)
    async with listening:
        await listening.serve_forever()


if __name__ == "__main__":
    random.seed(7)
    asyncio.run(_serve(Server(**json.loads(sys.argv[1]))))
