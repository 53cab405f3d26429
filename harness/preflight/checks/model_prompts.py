"""Finds prompts that a model was trained with and that are not configured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.preflight.checks import CheckInput, Finding, Part, checks


@checks.register
@dataclass(frozen=True)
class MissingPrompts:
    """A model's expected prefix before questions or documents that is missing."""

    name: ClassVar[str] = "prompts"
    order: ClassVar[int] = 20
    reads: ClassVar[tuple[Part, ...] | None] = ("embedders",)

    def is_expensive(self, run: CheckInput) -> bool:
        """Return False: it reads a small file."""
        return False

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield what each embedder says of itself, once; its model must be there."""
        warnings = dict.fromkeys(text for embedder in run.embedders for text in embedder.warnings())
        for text in warnings:
            fact, _, remedy = text.rpartition("; ")
            yield Finding(self.name, "warning", fact or remedy, remedy if fact else "")
