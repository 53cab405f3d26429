"""Add to a JSON file a checksum of its own content, and verify it.

What it says of a file holds whatever its spaces and line ends are: git may change those.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

KEY = "sum"


def add_checksum(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` with its checksum."""
    return {**{key: value for key, value in data.items() if key != KEY}, KEY: _compute_sum(data)}


def find_problem(data: Any) -> str:
    """Return what is wrong with what a file held, "" if nothing is, or it has no checksum."""
    if not isinstance(data, dict) or data.get(KEY) in (None, _compute_sum(data)):
        return ""
    return "is not as it was written: damaged, or changed by hand"


def _compute_sum(data: Mapping[str, Any]) -> str:
    # In their order, which is part of the content: a baseline's values are in that of its questions
    pairs = [[key, value] for key, value in data.items() if key != KEY]
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()
