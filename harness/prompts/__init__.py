"""The prompts that ship with the harness, a text file each."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def shipped(name: str) -> str:
    """Return the text of `NAME.txt`, without the line feed that ends the file."""
    return (Path(__file__).parent / f"{name}.txt").read_text("utf-8").removesuffix("\n")
