"""Multi-query: the question and other wordings of it, searched for and fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt

from harness.chat import ChatModel
from harness.records import Hit
from harness.registry import given
from harness.rephrasing import lines
from harness.retrievers import Asking, Part, Searchable, retrievers


@retrievers.register
@dataclass(frozen=True)
class MultiQuery(Asking):
    """Fuses by rank what `of` finds for the question and for `n` other wordings of it.

    A chat model writes the wordings, one a line; a reply without any is the question's failure.
    Rankings are `depth` deep and fused by the sum of 1 / (c + rank), as `hybrid` does.
    """

    of: Part = "dense"
    n: Annotated[int, Gt(0)] = 3
    prompt: str | None = None
    c: Annotated[float, Ge(0)] = 60
    depth: Annotated[int, Gt(0)] = 100
    chat: ChatModel | None = given()
    template: str | None = given()

    name: ClassVar[str] = "multi_query"
    version: ClassVar[int] = 2

    def texts(self, questions: Sequence[str], index: Searchable) -> list[tuple[str, ...]]:
        """Return for each question all that is searched for in its place, itself first."""
        wanted = [self.asked(each, partial(lines, n=self.n, known=each)) for each in questions]
        found = index.ask(self.asked_model(), wanted)
        return [(question, *others) for question, others in zip(questions, found, strict=True)]

    def retrieve(self, questions: Sequence[str], index: Searchable, k: int) -> list[list[Hit]]:
        """Return the fused ranking of each question.

        Raises:
            StageError: the chat model gave no wording of a question.
        """
        texts = self.texts(questions, index)
        return [each[:k] for each in self.fused(texts, index, max(k, self.depth), self.c)]
