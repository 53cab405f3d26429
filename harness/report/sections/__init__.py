"""Sections of the report. Add one by adding a file here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from harness.registry import Registry
from harness.report.document import Block, Part
from harness.report.run_view import View


class Section(Protocol):
    """What every file in this package provides.

    `order` is its place in the report, `short` what the navigation calls it.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    title: ClassVar[str]
    short: ClassVar[str]

    def blocks(self, view: View) -> Sequence[Block]:
        """Return what the section says of a run; nothing where it has nothing to say."""
        ...


_FIRST_LOOKED_UP = 70
"""The order from which on sections are there to be looked up, and not to be read."""
sections: Registry[Section] = Registry("report section", __name__, Section)


def parts(view: View) -> list[Part]:
    """Return every section that has something to say, in order."""
    in_order = sorted(
        (sections.build(name) for name in sections), key=lambda section: section.order
    )
    result = [
        Part(
            section.name,
            section.title,
            section.blocks(view),
            section.short,
            section.order >= _FIRST_LOOKED_UP,
        )
        for section in in_order
    ]
    return [part for part in result if part.blocks]
