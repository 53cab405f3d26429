"""Code of the user's own that a configuration names: where it is looked for, and what it is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from harness import dotted
from harness.errors import SpecError
from harness.fingerprint import sha256_of


def importable(folder: Path) -> None:
    """Let modules in `folder`, and in the working directory, be imported; installed ones win."""
    for place in (folder, Path()):
        found = str(place.resolve())
        if found not in sys.path:
            sys.path.append(found)


def load(name: str) -> Any:
    """Import and return what `package.module:name` stands for.

    Raises:
        SpecError: it cannot be imported, or is not there.
    """
    try:
        return dotted.load(name)
    except SystemExit as error:
        hint = 'it runs as it is imported: put that behind if __name__ == "__main__"'
        raise SpecError(f"{name!r}: its module ends the process ({error})", hint) from None


def code_id(name: str) -> str | None:
    """Return the SHA-256 of the file that `package.module:name` is in; None where it has none.

    Raises:
        SpecError: it cannot be imported.
    """
    load(name)
    module = sys.modules[name.replace(":", ".").rpartition(".")[0]]
    file = getattr(module, "__file__", None)
    return sha256_of(Path(file)) if file and Path(file).is_file() else None
