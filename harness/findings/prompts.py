"""Prompts that a model was trained with, and is not given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.findings import Finding, Look, Part, checks


@checks.register
@dataclass(frozen=True)
class Prompts:
    """A model's expected prefix before questions or documents that is missing."""

    name: ClassVar[str] = "prompts"
    order: ClassVar[int] = 20
    reads: ClassVar[tuple[Part, ...] | None] = ("embedders",)

    def dear(self, look: Look) -> bool:
        """Return False: it reads a small file."""
        return False

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield what each embedder says of itself, once; its model must be there."""
        said = dict.fromkeys(text for each in look.embedders for text in each.warnings())
        for text in said:
            fact, _, remedy = text.rpartition("; ")
            yield Finding(self.name, "warning", fact or remedy, remedy if fact else "")
