"""A JSON file's checksum of its own content, as its last key.

What it says of a file holds whatever its spaces and line ends are: git may change those.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

KEY = "sum"


def stamped(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` with its checksum."""
    return {**{key: each for key, each in data.items() if key != KEY}, KEY: _sum(data)}


def problem(data: Any) -> str:
    """Return what is wrong with what a file held, "" if nothing is, or it has no checksum."""
    if not isinstance(data, dict) or data.get(KEY) in (None, _sum(data)):
        return ""
    return "is not as it was written: damaged, or changed by hand"


def _sum(data: Mapping[str, Any]) -> str:
    # In their order, which is part of the content: a baseline's values are in that of its questions
    said = [[key, each] for key, each in data.items() if key != KEY]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()
