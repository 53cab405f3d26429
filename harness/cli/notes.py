"""Prints a command's result as JSON, and notes beside it on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from harness.text.escaping import make_printable


def print_json(value: Any) -> None:
    """Print plain data and dataclasses as JSON."""
    print(json.dumps(value, indent=1, ensure_ascii=False, default=asdict))


def print_notes(notes: Iterable[str]) -> None:
    """Print each note on one line of stderr, whatever somebody's names hold."""
    for note in notes:
        print(f"note: {make_printable(note)}", file=sys.stderr)
