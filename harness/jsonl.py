"""JSON Lines: one object a line, with the number of each."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from harness import openfile
from harness.errors import ENOUGH, DataError, Problem

_HINT = 'each line holds one JSON object, {"key": value, ...}'


@dataclass(frozen=True)
class Row:
    """One line of a file and the object on it."""

    line: int
    data: dict[str, Any]

    @property
    def where(self) -> str:
        """The place, as errors name it."""
        return f"line {self.line}"


def rows(path: Path) -> Iterator[Row | Problem]:
    """Yield each line's object, or what is wrong with the line; empty lines are left out.

    Raises:
        DataError: there is no such file, or it cannot be read.
    """
    for number, raw in _lines(path):
        if not raw.strip():
            continue
        where = f"line {number}"
        try:
            text = raw.decode("utf-8-sig").rstrip()
            data = json.loads(text, parse_constant=_refuse, parse_float=_finite)
            if b"\\ud" in raw or b"\\uD" in raw:
                _check_text(data)
        except UnicodeDecodeError as error:
            what = f"is not UTF-8 at byte {error.start} of the line"
            yield Problem(where, what, "save the file as UTF-8")
        except json.JSONDecodeError as error:
            what = f"is not JSON: {error.msg} at column {error.colno}"
            yield Problem(where, what, _HINT)
        except (ValueError, RecursionError) as error:
            yield Problem(where, f"is not usable JSON: {error}", _HINT)
        else:
            if isinstance(data, dict):
                yield Row(number, data)
            else:
                yield Problem(where, f"holds {type(data).__name__}, not an object", _HINT)


def read(path: Path) -> list[Row | Problem]:
    """Return what `rows` yields of a whole file, or until there are `ENOUGH` problems.

    Raises:
        DataError: there is no such file, or it cannot be read.
    """
    found: list[Row | Problem] = []
    problems = 0
    for each in rows(path):
        found.append(each)
        problems += isinstance(each, Problem)
        if problems == ENOUGH:
            break
    return found


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with openfile.opened(path) as file:
            yield from enumerate(openfile.lines(file), start=1)
    except OSError as error:
        problem = Problem("the file", f"cannot be read: {error.strerror}", "look at the path")
        raise DataError(str(path), [problem]) from None


def _check_text(data: object) -> None:
    """Raise `ValueError` for escapes that make no character: no model and no file takes them."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair is no character") from None


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is out of range")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
