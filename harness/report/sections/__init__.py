"""Sections: each says one thing about a run. Add one by adding a file here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from harness.registry import Registry
from harness.report.blocks import Block, Part
from harness.report.view import View


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


sections: Registry[Section] = Registry("report section", __name__)


def parts(view: View) -> list[Part]:
    """Return every section that has something to say, in order."""
    built = sorted((sections.build(name) for name in sections), key=lambda each: each.order)
    found = [Part(each.name, each.title, each.blocks(view), each.short) for each in built]
    return [part for part in found if part.blocks]
