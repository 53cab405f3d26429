"""A chat model of OpenAI's kind with a stated latency and a stated limit: no model, only the wait.

python -m benchmarks.slow_server 8    # prints its port; more than 8 at once are refused
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
    """How many requests it takes at once (0: any number), and what it was asked."""

    places: int
    asked: int = 0
    refused: int = 0
    running: int = 0
    most: int = 0
    seconds: float = 0.0
    """From the first request to the last answer."""
    _first: float = field(default=0.0, repr=False)

    def takes(self) -> bool:
        """Return whether it takes one more request now."""
        if not self.asked:
            self._first = time.monotonic()
        self.asked += 1
        return not self.places or self.running < self.places

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length or 0))
                if head.startswith(b"get"):
                    content, status = json.dumps(asdict(self)), "200 OK"
                elif self.takes():
                    self.running += 1
                    self.most = max(self.most, self.running)
                    slow = random.random() < SLOW
                    await asyncio.sleep(SLOWEST if slow else random.uniform(LEAST, MOST))
                    self.running -= 1
                    self.seconds = time.monotonic() - self._first
                    content, status = REPLY, "200 OK"
                else:
                    self.refused += 1
                    content, status = '{"error": {"message": "too many"}}', "429 Too Many Requests"
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
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
    asyncio.run(_serve(Server(int(sys.argv[1]))))
