"""Words that go with a number."""

from __future__ import annotations


def are(number: int) -> str:
    """Return the verb for so many."""
    return "is" if number == 1 else "are"
