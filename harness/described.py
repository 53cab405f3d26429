"""What made an artefact, in one line that a person understands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_LONGEST = 300
_HASH = re.compile(r"[0-9a-f]{16,}")
_UNSAID = ("version",)


def line(path: Path) -> str:
    """Return a line that says what `path`, an artefact's about.json, says; without the hashes."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return "what made it is not readable"
    # A damaged file can hold anything, also what a terminal would obey.
    text = "".join(c if c.isprintable() else " " for c in _said(about, 0))
    return " ".join(text.split())[:_LONGEST] or "no more is said"


def _said(value: Any, depth: int) -> str:
    if depth > 4 or value is None or (isinstance(value, str) and _HASH.fullmatch(value)):
        return ""
    if isinstance(value, list):
        return ", ".join(filter(None, (_said(each, depth + 1) for each in value[:5])))
    if not isinstance(value, dict):
        return json.dumps(value) if isinstance(value, bool) else str(value)
    name = value.get("name")
    parts = [
        f"{key}={said}" if depth else f"{key} {said}"
        for key, each in value.items()
        if key not in _UNSAID and key != "name" and (said := _said(each, depth + 1))
    ]
    if not isinstance(name, str):
        return ", ".join(parts)
    return f"{name}({', '.join(parts)})" if parts else name
