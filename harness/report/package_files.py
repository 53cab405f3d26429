"""Reads the templates, styles and scripts that ship with this package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def text(name: str) -> str:
    """Return the text of a file, named from this folder."""
    return (files("harness.report") / name).read_text(encoding="utf-8")
