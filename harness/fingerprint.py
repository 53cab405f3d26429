"""Fingerprints: hashes of everything that shaped a component, a file or the code."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import fields
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

__version__ = "0.2.0"
_BLOCK_BYTES = 1 << 20
_VERSION = re.compile(r"^Version: *(\S+)", re.MULTILINE)


def fingerprint(*parts: Any) -> str:
    """Return 16 hexadecimal digits that change when any of `parts` (JSON values) does."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digest(*parts: str) -> bytes:
    """Return 16 bytes that differ where any of these texts differs."""
    text = "".join([f"{len(part)}:{part}" for part in parts])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def identity(component: Any) -> dict[str, Any]:
    """Return what makes `component` what it is: name, version and all parameters.

    Defaults are included, so that changing a default changes the fingerprint.
    """
    return {
        "name": component.name,
        "version": component.version,
        **{
            field.name: identity_or_value(getattr(component, field.name))
            for field in fields(component)
        },
    }


def identity_or_value(value: Any) -> Any:
    """Return a part's own identity in the place of the part, and any other value as it is."""
    return value.identity() if hasattr(value, "identity") else value


def identity_of(component: Any) -> dict[str, Any]:
    """Return what a component says it is, or where it says nothing its `identity`.

    Of one that is not of the harness the hash of its file belongs to it: not every edit has a new
    version.
    """
    own_identity = getattr(component, "identity", None)
    result: dict[str, Any] = identity(component) if own_identity is None else own_identity()
    cls = type(component)
    if is_built_in(cls):
        return result
    return {**result, "class": cls.__qualname__, "code": code_of(cls.__module__)}


def is_built_in(cls: type) -> bool:
    """Return whether a class is one of the harness's own."""
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def code_of(*modules: str) -> str | None:
    """Return what the files of imported modules hold, as a hash; None where they have none."""
    files = dict.fromkeys(getattr(sys.modules.get(name), "__file__", None) for name in modules)
    hashes = [sha256_of(Path(file)) for file in files if file and Path(file).is_file()]
    return fingerprint(hashes) if hashes else None


@cache
def versions(*libraries: str) -> dict[str, str | None]:
    """Return the installed version of each library; None where it is not installed."""
    return {name: _installed_version(name) for name in libraries}


def _installed_version(name: str) -> str | None:
    try:
        about = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    # `metadata.version` parses all of the text, which takes ten times as long.
    found = _VERSION.search(about.read_text("METADATA") or "")
    return about.version if found is None else found[1]


@cache
def source_id() -> str:
    """Return the fingerprint of the harness's own code."""
    root, digest = Path(__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        code = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(code)}\n".encode() + code)
    return digest.hexdigest()[:16]


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
