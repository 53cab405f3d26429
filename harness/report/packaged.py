"""The templates, styles and scripts of this package, as pages are put together from them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def text(name: str) -> str:
    """Return the text of a file, named from this folder."""
    return (files("harness.report") / name).read_text(encoding="utf-8")
