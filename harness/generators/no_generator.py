"""None: retrieval alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.generators import generators


@generators.register
@dataclass(frozen=True)
class NoGenerator:
    """Answers nothing; metrics of answers are then not scored."""

    name: ClassVar[str] = "none"
    version: ClassVar[int] = 1
    answers: ClassVar[bool] = False
    copies: ClassVar[bool] = False
    at_once: ClassVar[int] = 1
    repeat: ClassVar[int] = 1

    def check(self) -> None:
        """There is nothing to check."""

    def answer(self, question: str, context: str, sample: int = 0) -> None:
        """Answer nothing."""
