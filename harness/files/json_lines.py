"""Read JSON Lines: one object a line, with line numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from harness import limits
from harness.errors import DataError, Problem
from harness.files import reading

_HINT = 'each line holds one JSON object, {"key": value, ...}'


@dataclass(frozen=True)
class JsonLine:
    """One line of a file and the object on it; `place` names it where places are not lines."""

    line: int
    data: dict[str, Any]
    place: str = ""

    @property
    def where(self) -> str:
        """The place, as errors name it."""
        return self.place or f"line {self.line}"


def rows(path: Path) -> Iterator[JsonLine | Problem]:
    """Yield each line's object, or what is wrong with the line; empty lines are left out.

    Raises:
        DataError: there is no such file, or it cannot be read.
    """
    for number, raw in _numbered_lines(path):
        if not raw.strip():
            continue
        where = f"line {number}"
        try:
            text = raw.decode("utf-8-sig").rstrip()
            data = json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_finite)
            if b"\\ud" in raw or b"\\uD" in raw:
                _check_text(data)
        except UnicodeDecodeError as error:
            message = f"is not UTF-8 at byte {error.start} of the line"
            yield Problem(where, message, "save the file as UTF-8")
        except json.JSONDecodeError as error:
            message = f"is not JSON: {error.msg} at column {error.colno}"
            yield Problem(where, message, _HINT)
        except (ValueError, RecursionError) as error:
            yield Problem(where, f"is not usable JSON: {error}", _HINT)
        else:
            if isinstance(data, dict):
                yield JsonLine(number, data)
            else:
                yield Problem(where, f"holds {type(data).__name__}, not an object", _HINT)


def read(path: Path) -> list[JsonLine | Problem]:
    """Return what `rows` yields of a whole file, or until there are `MAX_PROBLEMS` problems.

    Raises:
        DataError: there is no such file, or it cannot be read.
    """
    result: list[JsonLine | Problem] = []
    problems = 0
    for row in rows(path):
        result.append(row)
        problems += isinstance(row, Problem)
        if problems == limits.MAX_PROBLEMS:
            break
    return result


def _numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with reading.open_bytes(path) as file:
            yield from enumerate(reading.read_lines(file), start=1)
    except OSError as error:
        problem = Problem("the file", f"cannot be read: {error.strerror}", "look at the path")
        raise DataError(str(path), [problem]) from None


def _check_text(data: object) -> None:
    """Raise `ValueError` for escapes that make no character: no model and no file takes them."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair is no character") from None


def _parse_finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[: limits.MAX_VALUE_QUOTE_CHARS]} is out of range")
    return value


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
