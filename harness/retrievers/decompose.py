"""Decompose: the simpler questions that a question is made of, searched for and fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt

from harness.models.chat import ChatModel
from harness.models.rephrasing import parse_lines
from harness.records import Hit
from harness.registry import injected
from harness.retrievers import ChatRetriever, Part, SearchContext, retrievers


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

    def texts(self, questions: Sequence[str], index: SearchContext) -> list[tuple[str, ...]]:
        """Return for each question all that is searched for in its place."""
        return index.ask(
            self.asked_model(),
            [self.request_for(q, partial(parse_lines, n=self.n)) for q in questions],
        )

    def retrieve(self, questions: Sequence[str], index: SearchContext, k: int) -> list[list[Hit]]:
        """Return the fused ranking of each question.

        Raises:
            StageError: the chat model gave no question in place of one.
        """
        texts = self.texts(questions, index)
        return [
            ranking[:k] for ranking in self.fuse_searches(texts, index, max(k, self.depth), self.c)
        ]
