"""Code of the user's own that a configuration names: where it is looked for, and what it is."""

from __future__ import annotations

import inspect
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

from harness import dotted
from harness.fingerprint import fingerprint, sha256_of


def importable(folder: Path) -> None:
    """Let modules in `folder`, and in the working directory, be imported; installed ones win."""
    for place in (folder, Path()):
        found = str(place.resolve())
        if found not in sys.path:
            sys.path.append(found)


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
