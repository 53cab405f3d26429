"""Underway: one question on its way through a cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from harness import context
from harness.answers import Done
from harness.generators import Generator
from harness.kept import Asked
from harness.records import Answer, Case, Failure, Hit, Label, Question, Span, Stage
from harness.relevance import Relevance
from harness.settings import Context


class Underway:
    """A question, and what has become of it so far."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.candidates: tuple[Hit, ...] = ()
        self.hits: tuple[Hit, ...] = ()
        self.searched: tuple[str, ...] = ()
        self.context: str | None = None
        self.prompt: Sequence[Span] = ()
        self.answers: dict[int, Answer | None] = {}
        self.failure: Failure | None = None
        self.seconds: dict[Stage, float] = {}
        self.ended = False

    def spend(self, stage: Stage, seconds: float) -> None:
        """Add the seconds that a stage took."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def wanted(self, generator: Generator, bounds: Context) -> list[Asked]:
        """Fill in the context, and return what the generator is to be asked; nothing: it ended."""
        if self.failure is None:
            parts = context.cut(self.hits, bounds.chunks, bounds.tokens)
            self.prompt = [span for span, _ in parts]
            self.context = context.joined(parts)
        if self.context is None or not generator.answers:
            self.ended = True
            return []
        return [(self.question.text, self.context, each) for each in range(generator.repeat)]

    def answered(self, done: Done, of: int) -> None:
        """Take one of `of` answers; one that failed fails the question."""
        self.answers[done.key[2]] = done.answer
        self.spend("generation", done.seconds / of)
        if done.failure is not None and self.failure is None:
            self.failure = Failure("generation", done.failure)
        self.ended = len(self.answers) == of

    def cases(self, relevance: Relevance, kinds: Iterable[Label]) -> list[Case]:
        """Return a case for each answer, by the number of its sample; one where there is none."""
        answers = [self.answers[sample] for sample in sorted(self.answers)]
        case = Case(
            self.question,
            self.hits,
            relevance.judge(self.question, self.hits, kinds),
            self.context,
            None,
            self.failure,
            relevance.keywords(self.question, self.hits) if "keywords" in kinds else (),
            relevance.touching(self.question),
        )
        if self.failure is not None or not answers:
            return [case]
        return [replace(case, answer=answer) for answer in answers]
