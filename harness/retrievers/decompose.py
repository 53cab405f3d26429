"""Decompose: the simpler questions that a question is made of, searched for and fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt

from harness.models.chat import ChatModel
from harness.models.rephrasing import PromptRequest, parse_lines
from harness.registry import injected
from harness.retrievers import ChatRetriever, Part, retrievers


@retrievers.register
@dataclass(frozen=True)
class Decompose(ChatRetriever):
    """Fuses by rank what `of` finds for each of at most `n` simpler questions, not for the whole.

    A chat model writes them, one a line, and leaves a question about one fact as it is; a reply
    without any is the question's failure. Rankings are `depth` deep and fused by the sum of
    1 / (c + rank), as `hybrid` does.
    """

    of: Part = "dense"
    n: Annotated[int, Gt(0)] = 4
    prompt: str | None = None
    c: Annotated[float, Ge(0)] = 60
    depth: Annotated[int, Gt(0)] = 100
    chat: ChatModel | None = injected()
    template: str | None = injected()

    name: ClassVar[str] = "decompose"
    version: ClassVar[int] = 3

    def requests(self, questions: Sequence[str]) -> list[PromptRequest[tuple[str, ...]]]:
        """Return what asks for the simpler questions of each."""
        return [self.request_for(text, partial(parse_lines, n=self.n)) for text in questions]
