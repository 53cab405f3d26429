"""Constructor arguments for classes of other libraries; secrets are none of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.text import secrets


class Arguments(tuple[str, ...]):
    """Arguments as texts `name=value`, sorted; a value is JSON, or else a text.

    Such texts can be hashed, and stand in a component's label.
    """

    __slots__ = ()

    def identity(self) -> dict[str, Any]:
        """Return the arguments by name, `${NAME}` as it is written."""
        pairs = (argument.partition("=") for argument in self)
        return {name: _parse_value(text) for name, _, text in pairs}


def format_arguments(arguments: Any) -> list[str]:
    """Return the texts of arguments, given as a mapping or as such texts.

    Raises:
        ValueError: it is neither, a value is not JSON, or one is a secret.
    """
    if not isinstance(arguments, Mapping):
        if not isinstance(arguments, list | tuple) or not all(
            "=" in str(argument) for argument in arguments
        ):
            raise ValueError("write arguments as a mapping, name: value")
        pairs = (str(argument).partition("=") for argument in arguments)
        arguments = {name.strip(): _parse_value(text.strip()) for name, _, text in pairs}
    secrets.refuse_secrets(arguments)
    return sorted(f"{name}={_format_value(value)}" for name, value in arguments.items())


def _format_value(value: Any) -> str:
    """Return a value as JSON, or a text as it is where it does not read as JSON."""
    if isinstance(value, str) and value == value.strip() and _parse_value(value) == value:
        return value
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(f"{value!r} is no JSON value") from None


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON value")
