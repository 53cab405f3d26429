"""Identity is a hash of everything that shaped the thing."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

_BLOCK = 1 << 20


def fingerprint(*parts: Any) -> str:
    """Return 16 hexadecimal digits that change when any of `parts` (JSON values) does."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def identity(component: Any) -> dict[str, Any]:
    """Return what makes `component` what it is: name, version and all parameters.

    Defaults are included, so that changing a default changes the fingerprint.
    """
    return {
        "name": component.name,
        "version": component.version,
        **{field.name: plain(getattr(component, field.name)) for field in fields(component)},
    }


def plain(value: Any) -> Any:
    """Return a part's own identity in the place of the part, and any other value as it is."""
    return value.identity() if hasattr(value, "identity") else value


def identity_of(component: Any) -> dict[str, Any]:
    """Return what a component says it is, or where it says nothing its `identity`."""
    own = getattr(component, "identity", None)
    found: dict[str, Any] = identity(component) if own is None else own()
    return found


@cache
def versions(*libraries: str) -> dict[str, str | None]:
    """Return the installed version of each library; None where it is not installed."""
    return {name: _version(name) for name in libraries}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@cache
def source_id() -> str:
    """Return the fingerprint of the harness's own code."""
    root = Path(__file__).parent
    files = sorted(root.rglob("*.py"))
    return fingerprint([[path.relative_to(root).as_posix(), sha256_of(path)] for path in files])


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
