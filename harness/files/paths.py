"""Resolve the paths of a configuration, and format paths for messages."""

from __future__ import annotations

import os
import re
import string
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import AfterValidator

from harness.errors import SpecError
from harness.text.secrets import is_secret


def _without_nul(path: str) -> str:
    if "\0" in path:
        raise ValueError("no path can hold the character NUL")
    return path


PathText = Annotated[str, AfterValidator(_without_nul)]
"""A path as it stands in a configuration."""


def find(path: str, folder: Path, from_outside: bool, environment: Mapping[str, str]) -> str:
    """Return where `path` is: beside the configuration file, or in the working directory.

    The working directory comes first where the path is from the environment or the command line.

    Raises:
        SpecError: it is in neither, no path at all, or names an environment variable that is
            not set, or whose name is that of a secret: messages show where a path leads.
    """
    expanded = _expand(path, environment)
    tried = [folder / expanded, Path(expanded)]
    tried = tried[::-1] if from_outside else tried
    message = "does not exist"
    for candidate in tried:
        try:
            candidate.stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            continue
        except OSError as error:
            message = f"cannot be looked up: {error.strerror}"
            continue
        return os.path.relpath(candidate) if not candidate.is_absolute() else str(candidate)
    places = " and ".join(dict.fromkeys(display_path(tried_path) for tried_path in tried))
    raise SpecError(f"{expanded!r} {message}", f"looked at {places}")


_GGUF_PREFIX = "gguf:"
_CREDENTIALS = re.compile(r"(?<=:)//[^/@\s]+@")


def make_portable(value: Any) -> Any:
    """Return `value` without what is of one machine or secret.

    An absolute path is cut down to its last part, and a URL loses its user and password.
    """
    if isinstance(value, Mapping):
        return {str(key): make_portable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [make_portable(item) for item in value]
    if isinstance(value, str) and value.startswith(_GGUF_PREFIX + "/"):
        return _GGUF_PREFIX + str(make_portable(value.removeprefix(_GGUF_PREFIX)))
    if isinstance(value, str) and "\n" not in value and PurePath(value).is_absolute():
        return f".../{PurePath(value).name}"
    if isinstance(value, str):
        return _CREDENTIALS.sub("//", value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _expand(path: str, environment: Mapping[str, str]) -> str:
    secret = next(filter(is_secret, string.Template(path).get_identifiers()), None)
    if secret is not None:
        raise SpecError(
            f"{path!r}: {secret} is a secret by its name, and no part of a path",
            "name the folder by a variable of another name",
        )
    try:
        return string.Template(path).substitute(environment)
    except KeyError as error:
        name = str(error.args[0])
        raise SpecError(
            f"{path!r}: the environment variable {name} is not set", f"run it as: {name}=FOLDER ..."
        ) from None
    except ValueError:
        return path


def display_path(path: Path) -> str:
    """Return a path the way messages name it: relative where that is shorter."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else str(path)
