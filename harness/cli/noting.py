"""Notes beside a verb's result, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from harness.printable import printable


def noted(notes: Iterable[str]) -> None:
    """Print each note on one line of stderr, whatever somebody's names hold."""
    for note in notes:
        print(f"note: {printable(note)}", file=sys.stderr)
