"""The questions people ask that no test question is near, for the terminal and for a file."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from harness.printable import printable

_SHOWN = 20
_WIDTH = 70


def shown(far: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return at most 20 of what `findings.traffic.far` gives as lines of 100 columns."""
    if not far:
        return []
    part = f"{_SHOWN} of {len(far):,}; all: --unlike FILE" if len(far) > _SHOWN else f"{len(far)}"
    lines = [f"  asked, and no test question is near ({part}); how often, and on which line"]
    for each in far[:_SHOWN]:
        text = textwrap.shorten(printable(each["question"]), _WIDTH, placeholder=" …")
        lines.append(f"    {each['times']:>6,} ×  {text}  (line {each['line']:,})")
    return lines


def as_lines(far: Sequence[Mapping[str, Any]]) -> str:
    """Return all of it as JSON Lines."""
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in far)
