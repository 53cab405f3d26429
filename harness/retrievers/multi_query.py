"""Multi-query: the question and other wordings of it, searched for and fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt

from harness.models.chat import ChatModel
from harness.models.rephrasing import PromptRequest, parse_lines
from harness.registry import injected
from harness.retrievers import ChatRetriever, Part, SearchContext, retrievers


@retrievers.register
@dataclass(frozen=True)
class MultiQuery(ChatRetriever):
    """Fuses by rank what `of` finds for the question and for `n` other wordings of it.

    A chat model writes the wordings, one a line; a reply without any is the question's failure.
    Rankings are `depth` deep and fused by the sum of 1 / (c + rank), as `hybrid` does.
    """

    of: Part = "dense"
    n: Annotated[int, Gt(0)] = 3
    prompt: str | None = None
    c: Annotated[float, Ge(0)] = 60
    depth: Annotated[int, Gt(0)] = 100
    chat: ChatModel | None = injected()
    template: str | None = injected()

    name: ClassVar[str] = "multi_query"
    version: ClassVar[int] = 3

    def requests(self, questions: Sequence[str]) -> list[PromptRequest[tuple[str, ...]]]:
        """Return what asks for other wordings of each question."""
        return [
            self.request_for(text, partial(parse_lines, n=self.n, known=text)) for text in questions
        ]

    def texts(self, questions: Sequence[str], index: SearchContext) -> list[tuple[str, ...]]:
        """Return for each question all that is searched for in its place, itself first."""
        wordings = super().texts(questions, index)
        return [(question, *others) for question, others in zip(questions, wordings, strict=True)]
