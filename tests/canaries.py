"""Keys that a test plants, a server that sends back what it was sent, and a search for them."""

import base64
import gzip
import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.chat_server import completion
from tests.loopback import Handler, listening

NAMES = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "CHROMA_API_KEY",
    "HF_TOKEN",
    "LANGSMITH_API_KEY",
    "APP_TOKEN",
)
KEYS = {name: f"canary-{name.lower().replace('_', '-')}-4711" for name in NAMES}
PASSWORD = "canary-password-4711"
_SECRETS = [*KEYS.values(), PASSWORD]
APP = """
import os

def ask(question):
    key = os.environ["APP_TOKEN"]
    client = {"api_key": key}
    if "cost" in question:
        raise RuntimeError(f"401 for {key} of {client}")
    return (["A day pass costs 6 dollars."], "6 dollars")
"""


@contextmanager
def echoing() -> Iterator[str]:
    """Serve chat and `/ask`: each text of a reply holds all headers, and what they encode.

    The JSON of every other reply is escaped: `\\/`, and a number for each letter.
    """
    asked = []

    class Echo(Handler):
        def do_POST(self):
            self.body()
            asked.append(1)
            sent = " ".join(f"{name}={value}" for name, value in self.headers.items())
            for value in self.headers.values():
                if value.startswith("Basic "):
                    sent += " " + base64.b64decode(value[6:]).decode()
            if len(asked) % 4 == 0:
                self.send(400, json.dumps({"error": {"message": f"bad key {sent}"}}).encode())
            elif self.path.endswith("/ask"):
                reply = {"answer": sent, "contexts": [sent], "model": sent, sent: sent}
                self.send(200, _json(reply, escaped=len(asked) % 2 == 0))
            else:
                reply = _saying(completion(f"yes\n3 {sent}"), sent)
                self.send(200, _json(reply, escaped=len(asked) % 2 == 0))

    with listening(Echo) as url:
        yield url


def _saying(reply: Any, sent: str) -> Any:
    """Return a reply in which each text but those that it is known by holds `sent` as well."""
    if isinstance(reply, dict):
        known = ("content", "object", "role")
        return {key: each if key in known else _saying(each, sent) for key, each in reply.items()}
    if isinstance(reply, list):
        return [_saying(each, sent) for each in reply]
    return f"{reply} {sent}" if isinstance(reply, str) else reply


def _json(reply: Any, escaped: bool) -> bytes:
    """Return a reply as JSON, all its texts written in escapes where `escaped` says so."""
    text = json.dumps(reply)
    if escaped:
        text = re.sub(r'"((?:[^"\\]|\\.)*)"', _escaped, text)
    return text.encode()


def _escaped(text: re.Match[str]) -> str:
    letters = json.loads(text[0])
    return '"' + "".join("\\/" if c == "/" else f"\\u{ord(c):04x}" for c in letters) + '"'


def with_password(url: str) -> str:
    """Return the URL with a user and a password in it."""
    return url.replace("//", f"//user:{PASSWORD}@")


def found(folders: Iterable[Path], texts: Iterable[str] = ()) -> list[str]:
    """Return where a key is: in a text, a file's name, a file, or a value of a database."""
    places = [f"text {number}" for number, text in enumerate(texts) if _in(text.encode())]
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            places += [f"name of {path}"] if _in(path.name.encode()) else []
            if path.is_file() and not path.is_symlink():
                raw = path.read_bytes()
                places += [str(path)] if _in(raw) else []
                if raw.startswith(b"SQLite format 3"):
                    places += [f"{path}, a value" for value in _values(path) if _in(value)]
    return places


def _in(raw: bytes) -> bool:
    """Return whether a key is in bytes, as it is, packed, or in base64."""
    for each in (raw, *_unpacked(raw)):
        for secret in _SECRETS:
            plain = secret.encode()
            # In base64 the letters differ with the place; the middle of each form does not.
            coded = (base64.b64encode(b" " * n + plain)[4:-4] for n in range(3))
            if plain in each or any(some in each for some in coded):
                return True
    return False


def _unpacked(raw: bytes) -> Iterator[bytes]:
    for blob in re.findall(rb"H4sI[A-Za-z0-9+/]{20,}={0,2}", raw):  # what a report's page holds
        yield gzip.decompress(base64.b64decode(blob))
    for form in (15, 31, -15):
        try:
            yield zlib.decompress(raw, form)
        except zlib.error:
            continue


def _values(path: Path) -> Iterator[bytes]:
    with closing(sqlite3.connect(path)) as file:
        tables = [
            name for (name,) in file.execute("select name from sqlite_master where type = 'table'")
        ]
        for table in tables:
            try:
                rows = file.execute(f'select * from "{table}"').fetchall()
            except sqlite3.Error:  # a table of a module that is not loaded
                continue
            for row in rows:
                for value in row:
                    if isinstance(value, bytes | str):
                        yield (
                            value if isinstance(value, bytes) else value.encode("utf-8", "replace")
                        )
