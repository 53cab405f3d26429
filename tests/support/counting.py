"""Components that note what they were asked, each with notes of its own."""

from dataclasses import dataclass
from typing import ClassVar

from harness.embedders.hashing import Hashing
from harness.errors import StageError
from harness.fingerprint import identity
from harness.records import Answer
from harness.retrievers import Retriever


def counting_embedder(longest=10_000):
    """Return a hashing embedder whose vectors are kept; `asked` has each text and its kind."""

    @dataclass(frozen=True)
    class Counting(Hashing):
        name: ClassVar[str] = "counting"
        kept: ClassVar[bool] = True
        asked: ClassVar[list] = []

        def embed(self, texts, kind):
            self.asked.extend((kind, text) for text in texts)
            return super().embed(texts, kind)

        def truncated(self, texts):
            return [len(text) > longest for text in texts]

        def identity(self):
            return identity(self)

    return Counting()


def counting_generator(**made):
    """Return a generator that notes questions, and gives up on those with a word of `failing`."""

    @dataclass(frozen=True)
    class Counting:
        prompt: str = "answer"

        name: ClassVar[str] = "counting"
        version: ClassVar[int] = 1
        answers: ClassVar[bool] = True
        copies: ClassVar[bool] = False
        at_once: ClassVar[int] = 1
        repeat: ClassVar[int] = 1
        asked: ClassVar[list] = []
        failing: ClassVar[set] = set()

        def check(self):
            pass

        def answer(self, question, context, sample=0):
            self.asked.append(question)
            if any(word in question for word in self.failing):
                raise StageError("429 Too Many Requests")
            return Answer(f"A day pass costs 6 dollars. ({len(self.asked)})", tokens_in=7)

    return Counting(**made)


def counting_retriever(failing=()):
    """Return a retriever of the first chunks, that gives up on questions with a failing word.

    `asked` has what the run asks, and `traced` what is asked once more of exact search.
    """

    @dataclass(frozen=True)
    class Counting(Retriever):
        name: ClassVar[str] = "counting"
        version: ClassVar[int] = 1
        uses_vectors: ClassVar[bool] = False
        asked: ClassVar[list] = []
        traced: ClassVar[list] = []

        def retrieve(self, questions, index, k):
            from harness.records import Hit

            (self.asked if index.allowed is None else self.traced).extend(questions)
            if any(word in question for question in questions for word in failing):
                raise StageError("no route to host")
            first = [Hit(index.chunks[at], 1 / (at + 3)) for at in range(min(k, len(index.chunks)))]
            return [first for _ in questions]

    return Counting()
