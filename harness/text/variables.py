"""Environment variables that texts name as `${NAME}`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from harness.errors import HarnessError
from harness.text import secrets


def check_variables(text: str, place: str) -> None:
    """Look up the variables that `text` names.

    Raises:
        HarnessError: one is not set, or holds what no header takes.
    """
    for name in secrets.variables_in(text):
        value = os.environ.get(name, "")
        if not value:
            raise HarnessError(
                f"{place}: the environment variable {name} is not set\n"
                f"  run it as: {name}=... python -m harness ..."
            )
        if not (value.isascii() and value.isprintable()):
            raise HarnessError(
                f"{place}: the environment variable {name} holds characters that no header takes\n"
                "  a line feed at its end, perhaps"
            )


def fill_variables(value: Any) -> Any:
    """Return a JSON value with the variables in its texts filled in."""
    if isinstance(value, Mapping):
        return {key: fill_variables(item) for key, item in value.items()}
    if isinstance(value, list):
        return [fill_variables(item) for item in value]
    if not isinstance(value, str):
        return value
    return secrets.VARIABLE.sub(
        lambda match: secrets.remember(os.environ.get(match[1], ""), match[1]), value
    )
