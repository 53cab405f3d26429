"""The process that converts: files come in and texts go out, until nobody asks any more."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

from harness.converting import Converted, convert

_MEMORY = 4 << 30


def main() -> None:
    """Answer each question, a line of JSON and the file's bytes, with a line of JSON."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    _bound_memory()
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        raw = sys.stdin.buffer.read(asked["size"])
        found = convert(raw, asked["suffix"], asked["where"])
        if isinstance(found, Converted):
            said = {"converted": [found.text, found.title, dict(found.facts)]}
        else:
            said = {"problem": [found.where, found.what, found.hint]}
        out.write(json.dumps(said).encode() + b"\n")
        out.flush()


def _bound_memory() -> None:
    try:
        import resource
    except ModuleNotFoundError:  # pragma: no cover  Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MEMORY if most == resource.RLIM_INFINITY else min(_MEMORY, most)
    with suppress(ValueError, OSError):  # macOS refuses it
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))


if __name__ == "__main__":
    main()
