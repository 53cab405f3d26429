"""None: retrieval alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.generators import Generator, generators


@generators.register
@dataclass(frozen=True)
class NoGenerator(Generator):
    """Answers nothing; metrics of answers are then not scored."""

    name: ClassVar[str] = "none"
    version: ClassVar[int] = 1
    answers: ClassVar[bool] = False

    def answer(self, question: str, context: str, sample: int = 0) -> None:
        """Answer nothing."""
