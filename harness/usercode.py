"""Code of the user's own that a configuration names: where it is looked for, and what it is."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from harness import dotted
from harness.errors import SpecError
from harness.fingerprint import fingerprint, sha256_of
from harness.registry import parse


def importable(folder: Path, component: Any) -> None:
    """Let the modules that a component names be imported from `folder`; installed ones win.

    So from the working directory. Where the component names no module that lies there, nothing
    there is importable: not even as a library that is not installed.
    """
    roots = {re.split("[.:]", name)[0] for name in _names(component)}
    for place in (folder, Path()):
        found = str(place.resolve())
        if found not in sys.path and any(_holds(place, root) for root in roots):
            sys.path.append(found)


def _names(component: Any) -> Iterator[str]:
    """Yield each dotted name in a component, and in the components that it names by a text."""
    for field in fields(component):
        value = getattr(component, field.name)
        if field.type == "dotted.Name":
            yield value
        elif isinstance(value, str):
            yield from _named(value)


def _named(spec: str, nested: int = 4) -> Iterator[str]:
    try:
        _, parameters = parse(spec)
    except SpecError:
        return
    for name, value in parameters.items():
        if name == "cls":
            yield str(value)
        elif isinstance(value, str) and nested:
            yield from _named(value, nested - 1)


def _holds(folder: Path, module: str) -> bool:
    return (folder / f"{module}.py").is_file() or (folder / module).is_dir()


def code_id(name: str) -> str | None:
    """Return what the files of `package.module:name` hold, as a hash; None where it has none.

    They are that of the module, and that of the one which the function, or the object's class, is
    defined in: a package may only name it.

    Raises:
        SpecError: it cannot be imported.
    """
    found = dotted.load(name)
    while isinstance(found, partial):
        found = found.func
    with suppress(ValueError):  # it is wrapped in itself
        found = inspect.unwrap(found)
    named = name.replace(":", ".").rpartition(".")[0]
    modules = [sys.modules.get(each) for each in (named, str(getattr(found, "__module__", "")))]
    files = dict.fromkeys(getattr(each, "__file__", None) for each in modules)
    hashes = [sha256_of(Path(each)) for each in files if each and Path(each).is_file()]
    return fingerprint(hashes) if hashes else None
