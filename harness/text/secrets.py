"""Secrets: known by their names, taken from the environment alone, and blotted out of texts."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote

from harness import limits

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET = re.compile(
    r".*(token|secret|passwo?r?d|passphrase|apikey)|key|credentials?|cookies?"
    r"|auth|authori[sz]ation|authentication"
)
_SECRET_KEY_KINDS = frozenset(
    {"access", "account", "api", "auth", "private", "secret", "subscription"}
)
"""What a key is of that is a secret whatever it looks like."""
_FIELD_NAME = re.compile(r"[A-Za-z_.]{1,20}")
"""What a key of something else may be: the name of a field, as in `sort_key: name`."""
_SENT_APART = re.compile(r"code|(.* )?(session(id)?|sig|signature)")
"""What is a secret in a header or a URL, and in a request most often is none.

`code` by itself is where some clouds take the key of a function.
"""
_APART = frozenset({"default_headers", "default_query"})
"""Arguments of clients that are sent in headers and in URLs."""
_LITERAL = re.compile(r"\s*(bearer|basic)\s+(?!\$\{)\S", re.IGNORECASE)
_LOGIN = re.compile(r"://([^/@\s]+)@")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
KEY_REMEDY = "leave it out: the provider's library takes its key from a variable of its own"
_MIN_SECRET_CHARS, _MIN_PART_CHARS = 3, 6
"""Values with fewer characters are no secrets that a text could give away; under the latter they
are only where no letter or digit is beside them."""
_URL_SAFE = str.maketrans("+/", "-_")
_sent: dict[str, str] = {}
"""Values that are sent somewhere, with their names: secrets from then on, whatever these are."""


@lru_cache(maxsize=1024)
def is_secret(name: str, value: str | None = None) -> bool:
    """Return whether a name is that of a secret: `accessToken`, `X-Api-Key`, `aws_access_key_id`.

    A key of something else, `sort_key`, is none where its value is a plain word.
    """
    words = _split_name(name)
    if not words or not _SECRET.fullmatch(words[-1]):
        return False
    of_else = words[-1] == "key" and len(words) > 1 and words[-2] not in _SECRET_KEY_KINDS
    return not (of_else and value is not None and _FIELD_NAME.fullmatch(value))


def _split_name(name: str) -> list[str]:
    """Return the words of a name in lower case, `apiKey` being two; `id` at its end is left out."""
    words = [word.lower() for word in _WORD.findall(name)]
    return words[:-1] if words[-1:] == ["id"] else words


def refuse_secrets(value: Any, name: str = "", apart: bool = False) -> None:
    """Raise `ValueError`, without the value, for what stands in the place of a secret.

    `${NAME}`, an environment variable, may stand there. `apart` says that `value` is of headers or
    of a URL's query, and not of a request.
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            refuse_secrets(item, name if is_secret(name) else str(key), apart or key in _APART)
    elif isinstance(value, list | tuple):
        for item in value:
            refuse_secrets(item, name, apart)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        text = str(value)
        if _stands_for_secret(name, text, apart):
            variable = re.sub(r"\W+", "_", name).upper() or "TOKEN"
            raise ValueError(
                f"{name!r} is a secret, and no file holds one: put it in the environment, "
                f"and write ${{{variable}}} here"
            )
        if _LOGIN.search(text):
            raise ValueError(f"{name} has a password in its URL; give it in the environment")
        if "://" in text:
            refuse_secret_in_query(text, name, "write ${NAME} in its place")


def _stands_for_secret(name: str, text: str, apart: bool) -> bool:
    sent_apart = apart and _SENT_APART.fullmatch(" ".join(_split_name(name)))
    is_named_secret = (is_secret(name, text) or sent_apart) and not VARIABLE.search(text)
    return bool(is_named_secret or _LITERAL.match(text))


def refuse_secret_in_query(url: str, place: str, remedy: str) -> None:
    """Raise `ValueError`, without the value, for a URL in whose query a secret is."""
    for name, value in parse_qsl(url.partition("?")[2].partition("#")[0]):
        if _stands_for_secret(name, value, apart=True):
            message = f"{place}: {name!r} is a secret, and no file holds one"
            raise ValueError(f"{message}; {remedy}")


def variables_in(text: str) -> list[str]:
    """Return the names of the environment variables that a text names as `${NAME}`."""
    return VARIABLE.findall(text)


def remember(value: str, name: str) -> str:
    """Return a value, and have it blotted out from here on: it is sent somewhere."""
    _sent[value] = name
    return value


def remember_login(url: str) -> None:
    """Have the user and password of a URL blotted out from here on."""
    for login in map(unquote, _LOGIN.findall(url)):
        remember(remember(login, "LOGIN").partition(":")[2], "PASSWORD")


def redact(text: str) -> str:
    """Return `text` without the environment's secrets, and what was sent, in whatever form.

    Each is replaced by its name: `$OPENAI_API_KEY`.
    """
    named = {value: name for name, value in os.environ.items() if is_secret(name)}
    for value, name in {**_sent, **named}.items():
        if _MIN_SECRET_CHARS <= len(value) < _MIN_PART_CHARS:
            text = _alone(value).sub(f"${name}", text)
        elif len(value) >= _MIN_PART_CHARS:
            text = _in_any_case(value).sub(f"${name}", text)
            for form in _in_base64(value):
                text = text.replace(form, f"${name}")
            if "\\" in text or "%" in text:
                text = _escaped(value).sub(f"${name}", text)
    return text


@lru_cache(maxsize=64)
def _in_any_case(value: str) -> re.Pattern[str]:
    return re.compile(re.escape(value), re.IGNORECASE)


@lru_cache(maxsize=64)
def _alone(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE)


def describe_error(error: BaseException) -> str:
    """Return what an error says, on one line, short and without a secret of the environment."""
    lines = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return redact(text).encode("utf-8", "replace").decode()[: limits.MAX_ERROR_CHARS]


@lru_cache(maxsize=256)
def _escaped(value: str) -> re.Pattern[str]:
    """Return what finds a value in JSON, in Python's `repr`, in either of these, and in a URL."""
    in_url = (
        "".join(f"%{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))
        for letter in value
    )
    letters = (
        rf"(?:\\|%5[Cc]){{,8}}(?:{re.escape(letter)}|(?i:u{ord(letter):04x}|{percent}))"
        for letter, percent in zip(value, in_url, strict=True)
    )
    return re.compile("".join(letters), re.IGNORECASE)


@lru_cache(maxsize=256)
def _in_base64(value: str) -> list[str]:
    """Return the letters of base64 that stand for a value alone, by where in a text it starts."""
    forms: list[str] = []
    raw = value.encode("utf-8", "surrogateescape")
    for offset, first in enumerate((0, 2, 3)):
        text = base64.b64encode(bytes(offset) + raw).decode()
        last = len(text) - (0, 3, 2)[(offset + len(raw)) % 3]
        forms += [text[first:last], text[first:last].translate(_URL_SAFE)]
    return forms
