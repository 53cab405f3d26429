"""Worker process that converts files: requests on stdin, texts on stdout."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

from harness import limits
from harness.corpus.converting import ConvertedFile, convert


def main() -> None:
    """Answer each question, a line of JSON and the file's bytes, with a line of JSON."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    _limit_memory()
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        raw = sys.stdin.buffer.read(request["size"])
        result = convert(raw, request["suffix"], request["where"])
        if isinstance(result, ConvertedFile):
            message = {"converted": [result.text, result.title, dict(result.facts)]}
        else:
            message = {"problem": [result.where, result.what, result.hint]}
        out.write(json.dumps(message).encode() + b"\n")
        out.flush()


def _limit_memory() -> None:
    try:
        import resource
    except ModuleNotFoundError:  # pragma: no cover  Windows
        return
    _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
    limit = (
        limits.CONVERSION_MEMORY_BYTES
        if hard_limit == resource.RLIM_INFINITY
        else min(limits.CONVERSION_MEMORY_BYTES, hard_limit)
    )
    with suppress(ValueError, OSError):  # macOS refuses it
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard_limit))


if __name__ == "__main__":
    main()
