"""HyDE: the vector of a passage that a chat model makes up, in place of the question's."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt

from harness.files.batches import batched
from harness.models.chat import ChatModel
from harness.models.rephrasing import PromptRequest, parse_passage
from harness.protocols import Vectors
from harness.records import Hit
from harness.registry import injected
from harness.retrievers import ChatRetriever, Part, SearchContext, retrievers


@retrievers.register
@dataclass(frozen=True)
class Hyde(ChatRetriever):
    """Searches by the mean vector of `n` passages that a chat model makes up as answers.

    With `question: true` the question's own vector is one more in the mean. What of `of` reads
    words, as bm25 does, still reads the question. A chat model at temperature 0 writes the same
    passage each time, so a higher `n` needs a higher temperature. Source: Gao et al., "Precise
    Zero-Shot Dense Retrieval without Relevance Labels", 2023 (n = 8, with the question).
    """

    of: Part = "dense"
    n: Annotated[int, Gt(0)] = 1
    question: bool = False
    prompt: str | None = None
    chat: ChatModel | None = injected()
    template: str | None = injected()

    name: ClassVar[str] = "hyde"
    version: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.uses_vectors:
            raise ValueError(f"of: {self.of!r} reads no vectors, so a passage changes nothing")
        if self.n > 1 and self.chat is not None and self.chat.temperature == 0:
            raise ValueError(
                f"n: a chat model at temperature 0 writes the same passage {self.n} times: "
                "set `temperature` in `chat`"
            )

    def requests(self, questions: Sequence[str]) -> list[PromptRequest[str]]:
        """Return what asks for the passages of each question."""
        pairs = itertools.product(questions, range(self.n))
        return [self.request_for(question, parse_passage, sample) for question, sample in pairs]

    def texts(self, questions: Sequence[str], index: SearchContext) -> list[tuple[str, ...]]:
        """Return for each question the passages whose vectors stand for it."""
        passages = index.ask(self.asked_model(), self.requests(questions))
        return list(map(tuple, batched(passages, self.n)))

    def retrieve(self, questions: Sequence[str], index: SearchContext, k: int) -> list[list[Hit]]:
        """Return the ranking of each question by its passages.

        Raises:
            StageError: the chat model gave no passage for a question.
        """
        passages = [text for texts in self.texts(questions, index) for text in texts]
        vectors = index.embed_questions(passages, "document")
        groups = vectors.reshape(len(questions), self.n, vectors.shape[1])
        if self.question:
            question_vectors = index.embed_questions(questions)
            groups = np.concatenate([groups, question_vectors[:, None, :]], axis=1)
        (part,) = self.parts()
        means = dict(zip(questions, map(_mean, groups), strict=True))
        return part.retrieve(questions, index.embedded_as(means), k)


def _mean(vectors: Vectors) -> Vectors:
    """Return the mean of rows, at length 1."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), dtype=np.float32)
