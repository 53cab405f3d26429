"""Code of the user's own that a configuration names: where it is looked for, and what it is."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from harness import dotted
from harness.fingerprint import fingerprint, sha256_of


def importable(folder: Path, settings: Any) -> None:
    """Let the modules that a configuration names be imported from its folder; installed ones win.

    So from the working directory. Where `settings`, the texts in it, names no module that lies
    there, nothing there is importable: not even as a library that is not installed.
    """
    roots = set(_roots(settings))
    for place in (folder, Path()):
        found = str(place.resolve())
        if found not in sys.path and any(_holds(place, root) for root in roots):
            sys.path.append(found)


def _roots(value: Any) -> Iterator[str]:
    """Yield the first part of each dotted name in a value."""
    if isinstance(value, str):
        yield from (re.split("[.:]", found[0])[0] for found in dotted.names(value))
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _roots(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _roots(each)


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
