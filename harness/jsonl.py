"""JSON Lines: one object a line, with the number of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from harness.errors import Problem


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
    """Yield each line's object, or what is wrong with the line; empty lines are left out."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if not raw.strip():
                continue
            where = f"line {number}"
            try:
                data = json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse)
            except UnicodeDecodeError as error:
                yield Problem(where, f"is not UTF-8 at byte {error.start} of the line")
            except json.JSONDecodeError as error:
                yield Problem(where, f"is not JSON: {error.msg} at column {error.colno}")
            except (ValueError, RecursionError) as error:
                yield Problem(where, f"is not usable JSON: {error}")
            else:
                if isinstance(data, dict):
                    yield Row(number, data)
                else:
                    yield Problem(where, f"holds {type(data).__name__}, not an object")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
