"""The layout of a folder of ours, by the number in the file that marks it."""

from __future__ import annotations

import json

from harness.errors import HarnessError


def mark(version: int) -> str:
    """Return what the file that marks a folder says of its layout."""
    return json.dumps({"version": version}) + "\n"


def check(mark: bytes | None, known: int, what: str, remedy: str) -> None:
    """Raise `HarnessError` where `what` has a newer layout than the `known` one.

    A mark that is damaged, or not there, says nothing: what is inside is checked one by one.
    """
    try:
        version = json.loads(mark or b"{}")["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    if isinstance(version, int) and version > known:
        raise HarnessError(
            f"{what} was written by a newer version of the harness: "
            f"its layout is {version}, and this version knows {known}\n"
            f"  {remedy}, or upgrade"
        )
