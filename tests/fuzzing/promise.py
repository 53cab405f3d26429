"""The promise that is held against whatever a target is given."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from harness.errors import HarnessError, InputError
from harness.text.escaping import is_visible

LONGEST, MOST = 2_200, 302
"""Characters of a line of a message, and lines of one."""
_DEEPEST = 60


def broken(call: Callable[[], Any]) -> str | None:
    """Return what `call` broke of the promise, or None.

    The promise: it returns numbers that are finite, or raises a `HarnessError` whose message is
    bounded, says a place and a fact, and holds nothing that a terminal would obey.
    """
    try:
        found = call()
    except HarnessError as error:
        return _unsaid(error)
    except Exception as error:  # noqa: BLE001  the promise is that there is none
        return f"{type(error).__name__}: {str(error)[:300]}"
    return _infinite(found, _DEEPEST)


def _unsaid(error: HarnessError) -> str | None:
    lines = str(error).split("\n")
    if not str(error).strip():
        return f"{type(error).__name__} says nothing"
    if error.status not in (2, 3):
        return f"the exit status is {error.status}"
    if len(lines) > MOST or any(len(line) > LONGEST for line in lines):
        return f"a message of {len(lines)} lines, the longest of {max(map(len, lines))} characters"
    if not all(is_visible(each) for line in lines for each in line):
        return f"a message for no terminal: {str(error)[:300]!a}"
    if isinstance(error, InputError):
        if not error.problems:
            return "a refusal without a problem"
        if not all(each.where.strip() and each.what.strip() for each in error.problems):
            return f"a problem without its place or its fact: {error.problems[0]}"
    return None


def _infinite(found: Any, deepest: int) -> str | None:
    """Return what says that there is a number that is none, at any depth of plain data."""
    if isinstance(found, float):
        return None if math.isfinite(found) else f"the number {found} came out"
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        found = [getattr(found, each.name) for each in dataclasses.fields(found)]
    elif isinstance(found, Mapping):
        found = [*found, *found.values()]
    if not isinstance(found, list | tuple) or not deepest:
        return None
    return next(filter(None, (_infinite(each, deepest - 1) for each in found)), None)
