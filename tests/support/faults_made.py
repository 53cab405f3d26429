"""A run against a server that misbehaves, held against one whose server is calm."""

import gzip
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

from tests.support.chat_server import SOON, completion
from tests.support.loopback import JSON, Handler, listening
from tests.support.small import project

TIMES = 4
"""How often a question is asked at most: once, and three times more."""
_METRICS = ["token_f1", "exact_match", "abstention", "correctness"]
_OF_CELLS = ("chunkers", "embedders", "retrievers", "generators", "context")
_SILENT = 8.0


@dataclass
class Schedule:
    """Which requests go wrong, and how: it depends on the seed, the prompt and the try alone."""

    rate: float
    seed: int = 7
    kinds: Sequence[str] = ()
    """The faults there are; all of them where none is named."""
    tries: Counter = field(default_factory=Counter)
    made: Counter = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, prompt: str) -> str | None:
        """Return what the next try at one prompt meets; None is a proper reply."""
        with self.lock:
            self.tries[prompt] += 1
            told = f"{self.seed} {self.tries[prompt]} {prompt}".encode()
            chance = random.Random(hashlib.sha256(told).digest())
            kind = (
                chance.choice(self.kinds or sorted(FAULTS)) if chance.random() < self.rate else None
            )
            self.made[kind] += 1
            return kind


def _status(status: int, headers: dict = SOON, said: bytes = b'{"error": {"message": "no"}}'):
    return lambda handler, whole: handler.send(status, said, {**JSON, **headers})


def _body(content: Callable[[], bytes], **headers: str):
    return lambda handler, whole: handler.send(200, content(), {**JSON, **headers})


def _begun(handler: Handler, whole: bytes) -> None:
    """Send half of a reply, and close the connection."""
    handler.send(200, whole[: len(whole) // 2], {**JSON, "Content-Length": str(len(whole))})


def _stalled(handler: Handler, whole: bytes) -> None:
    """Send a byte now and then."""
    handler.send(200, b"", {**JSON, "Content-Length": str(len(whole))})
    for at in range(len(whole)):
        handler.wfile.write(whole[at : at + 1])
        time.sleep(0.2)


def _headers_stalled(handler: Handler, whole: bytes) -> None:
    """Send a header a byte at a time: no time-out of a single wait is ever met."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _ in range(40):
        handler.wfile.write(b"x")
        time.sleep(0.2)


@cache
def _huge() -> bytes:
    return json.dumps(completion("x" * 10_500_000)).encode()


@cache
def _bomb() -> bytes:
    return gzip.compress(b"0" * 60_000_000)


FAULTS: dict[str, Callable[[Handler, bytes], object]] = {
    "busy, soon": _status(429),
    "busy, since yesterday": _status(429, {"Retry-After": "Fri, 20 Nov 2020 12:00:00 GMT"}),
    "busy, no word of when": _status(429, {}),
    "unavailable": _status(503, {"Retry-After": "0"}),
    "error of its own": _status(500),
    "a page for an error": _status(502, {**SOON, "Content-Type": "text/html"}, b"<h1>Bad</h1>"),
    "dropped": lambda handler, whole: None,
    "dropped on the way": _begun,
    "silent": lambda handler, whole: time.sleep(_SILENT),
    "stalled": _stalled,
    "stalled in the head": _headers_stalled,
    "empty": _body(lambda: b""),
    "not JSON": _body(lambda: b'{"choices": [{"mess'),
    "not UTF-8": _body(lambda: b'{"choices": "caf\xe9"}'),
    "huge": _body(_huge),
    "a bomb": _body(_bomb, **{"Content-Encoding": "gzip"}),
    "wrongly packed": _body(lambda: b"{}", **{"Content-Encoding": "gzip"}),
    "unknown packing": _body(lambda: b"{}", **{"Content-Encoding": "zzz"}),
    "elsewhere": _status(302, {"Location": "/elsewhere"}),
    "refused": _status(400),
}


@contextmanager
def misbehaving(schedule: Schedule) -> Iterator[str]:
    """Answer as a chat model, as a judge and, at /ask, as a system; yield the server's URL."""

    class Answering(Handler):
        def do_POST(self):
            body = self.body()
            system = self.path == "/ask"
            prompt = body["q"] if system else body["messages"][-1]["content"]
            judged = "\nReferences:" in prompt
            number = prompt.partition("locker number ")[2].partition(" ")[0].rstrip("?")
            said = f"{int(number) % 4}\nIt is so." if judged else coins(number)
            reply = {"answer": said} if system else completion(said)
            whole = json.dumps(reply).encode()
            kind = schedule.next(("system " if system else "") + prompt)
            with suppress(OSError):  # a client that has timed out is gone
                if kind is None:
                    self.send(200, whole)
                else:
                    FAULTS[kind](self, whole)

    with listening(Answering) as url:
        yield url


def coins(number: str) -> str:
    """Return what a locker costs by its number: for some of them it is wrong."""
    return f"It costs {int(number) * 7 % 1000} coins" + (
        " and more." if number[-1] in "37" else "."
    )


def write(
    folder: Path,
    url: str,
    kind: str,
    questions: int,
    timeout: float = 2.0,
    judge: str | None = None,
) -> Path:
    """Write a project that asks one server as `chat` or as `http`; return its configuration.

    The same server judges, or another; with another, a fifth of the questions may fail.
    """
    rows, facts = [], []
    for number in range(100, 100 + questions):
        asked = f"What does the locker number {number} cost?"
        answers = [f"It costs {number * 7 % 1000} coins."]
        rows.append({"id": f"q{number}", "question": asked, "answers": answers})
        facts.append(f"As for locker {number}: {answers[0]}")
    pace = {"timeout": timeout, "retries": TIMES - 1, "concurrent": 8}
    model = {"model": "openai:m", "base_url": f"{url}/v1", **pace}
    path = project(folder, rows)
    (folder / "corpus" / "lockers.md").write_text("\n\n".join(facts), "utf-8")
    config = yaml.safe_load(path.read_text("utf-8"))
    config |= {"judge": {**model, "base_url": f"{judge or url}/v1"}, "metrics": _METRICS}
    config["max_failures"] = 0.2 if judge else questions
    if kind == "chat":
        config |= {"chunkers": ["sentence"], "retrievers": ["bm25"]}
        config |= {"chat": model, "generators": ["chat"]}
    else:
        ask = {"url": f"{url}/ask", "request": {"q": "{question}"}, "label": "app"}
        config = {key: value for key, value in config.items() if key not in _OF_CELLS}
        config["system"] = {"http": {**ask, "response": {"answer": "$.answer"}, **pace}}
    path.write_text(yaml.safe_dump(config), "utf-8")
    return path


def ran(folder: Path, kills: int = 0, seed: int = 7) -> str:
    """Run the project in a process of its own, killed so often before; return what it said."""
    command = [sys.executable, "-m", "harness", "run", "config.yaml"]
    about = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    chance = random.Random(seed)
    for _ in range(kills):
        process = subprocess.Popen(
            command, cwd=folder, env=about, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(chance.uniform(3.0, 15.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    done = subprocess.run(
        command, cwd=folder, env=about, capture_output=True, text=True, timeout=3600, check=False
    )
    return "" if done.returncode == 0 else f"status {done.returncode}: {done.stderr[-500:]}"


def records(folder: Path) -> dict[str, list[dict]]:
    """Return the lines of the newest run by question."""
    path = max((folder / "reports").glob("*/records.jsonl"))
    found: dict[str, list[dict]] = {}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(row["question"], []).append(row)
    return found


def broken(calm: Path, harried: Path) -> list[str]:
    """Return which promises the run against the misbehaving server broke, as its records say."""
    usual, other = records(calm), records(harried)
    found = [f"{key}: lost, or there for nothing" for key in usual.keys() ^ other.keys()]
    for key in usual.keys() & other.keys():
        mine, theirs = usual[key][0], other[key][0]
        if len(other[key]) != 1:
            found.append(f"{key}: {len(other[key])} records")
        if (theirs["error"] is None) == (theirs["answer"] is None):
            found.append(f"{key}: neither answered nor failed, or both")
        if theirs["error"] is not None:
            if not theirs["error"]["reason"].strip() or "Traceback" in theirs["error"]["reason"]:
                found.append(f"{key}: failed without a reason")
            continue
        for name, score in theirs["scores"].items():
            if score.get("state") != "metric_failed" and score != mine["scores"][name]:
                found.append(f"{key}: {name} is {score} and not {mine['scores'][name]}")
    return found
