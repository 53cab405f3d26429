"""Keys that a test plants, a server that sends back what it was sent, and a search for them."""

import base64
import gzip
import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.support.chat_server import completion
from tests.support.loopback import Handler, listening

NAMES = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "CHROMA_API_KEY",
    "HF_TOKEN",
    "LANGSMITH_API_KEY",
    "APP_TOKEN",
    "SEARCH_PASSWORD",
    "OUR_SESSION",
    "WORD_OF_THE_DAY",
)
_LETTERS = {name: f"canary-{name.lower().replace('_', '-')}-4711" for name in NAMES}
KEYS = {name: f"{letters}'\"\\\\/+=." for name, letters in _LETTERS.items()}
"""Ten keys, two of them by no name of a secret; JSON, Python and URLs escape each."""
PASSWORD = "canary-password-4711"
_SECRETS = [*_LETTERS.values(), PASSWORD]
"""What is looked for: the letters of a key that are the same however it is escaped."""
APP = """
import base64, json, os
from urllib.parse import quote

from langchain_core.embeddings import Embeddings

def everything():
    # That the others are secrets shows where a configuration names them.
    secret = os.environ.keys() - {"OUR_SESSION", "WORD_OF_THE_DAY"}
    keys = [os.environ[name] for name in secret if "canary-" in os.environ[name]]
    forms = [keys, json.dumps(keys), json.dumps(json.dumps(keys)), quote(str(keys))]
    coded = [base64.b64encode(f"{' ' * n}{key}".encode()) for n in range(3) for key in keys]
    return f"401 for {os.environ['APP_TOKEN']} of {forms} {coded}"

def ask(question):
    if "cost" in question or "Mars" in question:
        raise RuntimeError(everything())
    return (["A day pass costs 6 dollars."], "6 dollars")

class Crashing(Embeddings):
    @property
    def base_url(self):
        raise RuntimeError(everything())

    def embed_documents(self, texts):
        return []

    def embed_query(self, text):
        return []
"""


@contextmanager
def echoing() -> Iterator[str]:
    """Serve chat, embeddings and `/ask`: each text of a reply holds all headers, in all forms.

    The JSON of every other reply is escaped: `\\/`, and a number for each letter.
    """
    asked = []

    class Echo(Handler):
        def do_GET(self):
            self.send(404, json.dumps({"error": f"nothing for {_forms(self.headers)}"}).encode())

        def do_POST(self):
            body = self.body()
            asked.append(1)
            sent = f"{_forms(self.headers)} {body.get('secret')} {self.path}"
            if len(asked) % 4 == 0 or self.path.startswith("/v1/embeddings"):
                self.send(400, json.dumps({"error": {"message": f"bad key {sent}"}}).encode())
            elif self.path.endswith("/ask"):
                reply = {"answer": sent, "contexts": [sent], "model": sent, sent: sent}
                self.send(200, _json(reply, escaped=len(asked) % 2 == 0))
            else:
                reply = _saying(completion(f"yes\n3 {sent}"), sent)
                self.send(200, _json(reply, escaped=len(asked) % 2 == 0))

    with listening(Echo) as url:
        yield url


def _forms(headers: Message) -> str:
    """Return headers as they are, and as JSON, Python, URLs and base64 write them."""
    values = dict(headers.items())
    forms = [" ".join(values.values()), json.dumps(values), repr(values), repr(json.dumps(values))]
    for value in values.values():
        forms += [quote(value), base64.b64encode(value.encode()).decode()]
        if value.startswith("Basic "):
            forms.append(base64.b64decode(value[6:]).decode())
    return " ".join(forms)


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
