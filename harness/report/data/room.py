"""What of a large run is too much for one page, and stays in `records.jsonl` alone."""

from __future__ import annotations

from harness.context import SEPARATOR
from harness.store import StoredRun

_CHARACTERS = {"reasons": 60_000_000, "prompts": 20_000_000, "contexts": 20_000_000, "samples": 0}


def left_out(stored: StoredRun) -> list[str]:
    """Return which of the texts of a run are left out of its page."""
    return []
