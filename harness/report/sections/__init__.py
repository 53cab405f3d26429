"""Sections of the report. Add one by adding a file here."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from harness.report.document import Block, Part
from harness.report.run_view import View

Blocks: TypeAlias = Callable[[View], Sequence[Block]]
"""What a section says of a run; nothing where it has nothing to say."""
Condition: TypeAlias = Callable[[View], object]
"""Whether a section has anything to say of a run at all: false where it does not."""
_FIRST_LOOKED_UP = 70
"""The order from which on sections are there to be looked up, and not to be read."""


@dataclass(frozen=True)
class Section:
    """A section: `order` is its place in the report, `short` what the navigation calls it."""

    name: str
    order: int
    title: str
    short: str
    blocks: Blocks
    when: Condition | None = None


_sections: dict[str, Section] = {}


def section(
    name: str, order: int, title: str, short: str = "", when: Condition | None = None
) -> Callable[[Blocks], Blocks]:
    """Add what a function returns to the report, as a section; `when` is asked before it."""

    def add(blocks: Blocks) -> Blocks:
        _sections[name] = Section(name, order, title, short or title, blocks, when)
        return blocks

    return add


def sections() -> list[Section]:
    """Return the sections of this package, in the order of the report."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return sorted(_sections.values(), key=lambda each: (each.order, each.name))


def parts(view: View) -> list[Part]:
    """Return every section that has something to say, in order."""
    built = [
        Part(each.name, each.title, each.blocks(view), each.short, each.order >= _FIRST_LOOKED_UP)
        for each in sections()
        if each.when is None or each.when(view)
    ]
    return [part for part in built if part.blocks]
