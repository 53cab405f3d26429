"""The arguments that a configuration gives to a class of another library: no secret among them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET = re.compile(
    r".*(token|secret|passwo?r?d|passphrase|apikey)|key|credentials?|cookies?"
    r"|auth|authori[sz]ation|authentication"
)
_KEYS = frozenset({"access", "account", "api", "auth", "private", "secret", "subscription"})
"""What a key is of that is a secret whatever it looks like."""
_PLAIN = re.compile(r"[A-Za-z_.]{1,20}")
"""What a key of something else may be: the name of a field, as in `sort_key: name`."""
_LOGIN = re.compile(r"://[^/@\s]+@")
_SHORT = 6


class Arguments(tuple[str, ...]):
    """Arguments as texts `name=value`, sorted; a value is JSON, or else a text.

    Such texts can be hashed, and stand in a component's label.
    """

    __slots__ = ()

    def identity(self) -> dict[str, Any]:
        """Return the arguments by name."""
        pairs = (each.partition("=") for each in self)
        return {name: _value(text) for name, _, text in pairs}


def written(given: Any) -> list[str]:
    """Return the texts of arguments, given as a mapping or as such texts.

    Raises:
        ValueError: it is neither, a value is not JSON, or one is a secret.
    """
    if not isinstance(given, Mapping):
        if not isinstance(given, list | tuple) or not all("=" in str(each) for each in given):
            raise ValueError("write arguments as a mapping, name: value")
        pairs = (str(each).partition("=") for each in given)
        given = {name.strip(): _value(text.strip()) for name, _, text in pairs}
    _refuse_secrets(given, "")
    return sorted(f"{name}={_text(value)}" for name, value in given.items())


def is_secret(name: str, value: str | None = None) -> bool:
    """Return whether a name is that of a secret: `accessToken`, `X-Api-Key`, `aws_access_key_id`.

    A key of something else, `sort_key`, is none where its value is a plain word.
    """
    words = words_of(name)
    if not words or not _SECRET.fullmatch(words[-1]):
        return False
    of_else = words[-1] == "key" and len(words) > 1 and words[-2] not in _KEYS
    return not (of_else and value is not None and _PLAIN.fullmatch(value))


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case, `apiKey` being two; `id` at its end is left out."""
    words = [each.lower() for each in _WORD.findall(name)]
    return words[:-1] if words[-1:] == ["id"] else words


def scrubbed(text: str) -> str:
    """Return `text` without the values of the environment's keys, tokens and passwords."""
    for name, value in os.environ.items():
        if len(value) >= _SHORT and is_secret(name):
            text = text.replace(value, f"${name}")
    return text


def said(error: BaseException) -> str:
    """Return what an error says, on one line, short and without a secret of the environment."""
    lines = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return scrubbed(text).encode("utf-8", "replace").decode()[:300]


def _refuse_secrets(value: Any, where: str) -> None:
    if isinstance(value, Mapping):
        for name, each in value.items():
            place = f"{where}.{name}" if where else str(name)
            if is_secret(str(name), str(each)):
                raise ValueError(
                    f"{place} is a secret, and no file holds one: it comes from the environment, "
                    "by the variable that the class reads"
                )
            _refuse_secrets(each, place)
    elif isinstance(value, list | tuple):
        for each in value:
            _refuse_secrets(each, where)
    elif isinstance(value, str) and _LOGIN.search(value):
        raise ValueError(f"{where} has a password in its URL; give it in the environment")


def _text(value: Any) -> str:
    """Return a value as JSON, or a text as it is where it does not read as JSON."""
    if isinstance(value, str) and value == value.strip() and _value(value) == value:
        return value
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(f"{value!r} is no JSON value") from None


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return text


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON value")
