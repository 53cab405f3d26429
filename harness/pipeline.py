"""A cell to outcomes: retrieve, assemble the context, answer, score. Yields, and never writes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from harness import context, scoring
from harness.batches import batched
from harness.errors import RunError, StageError
from harness.plan import Plan
from harness.records import Answer, Case, Failure, Hit, Label, Outcome, Question, Stage
from harness.relevance import Relevance
from harness.retrievers import Retriever, Searchable
from harness.settings import Settings
from harness.stages import Stages
from harness.sweep import Cell

T = TypeVar("T")
_BATCH = 32
"""How many questions are retrieved and scored together, and lost together if the run is killed."""


def outcomes(
    cell: Cell, questions: Iterable[Question], stages: Stages, plan: Plan
) -> Iterator[Outcome]:
    """Yield the outcome of each question in one cell, in order.

    A `StageError` becomes the failure of its question; any other error ends the run.
    """
    relevance = stages.relevance(cell.chunker)
    for batch in batched(questions, _BATCH):
        runs = [_Run(question) for question in batch]
        with stages.ledger.timed("retrieval"):
            _retrieve(cell, runs, stages, plan.settings.retrieve)
        with stages.ledger.timed("generation"):
            for run in runs:
                _answer(cell, run, plan.settings)
        with stages.ledger.timed("scoring"):
            cases = [run.case(relevance, plan.kinds) for run in runs]
            level = plan.settings.relevance_level
            scores = scoring.score_all(plan.metrics, cases, plan.labels, level)
        for run, case, row in zip(runs, cases, scores, strict=True):
            yield Outcome(cell.name, case, row, run.candidates, run.seconds)


class _Run:
    """One question on its way through a cell."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.hits: tuple[Hit, ...] = ()
        self.candidates: tuple[Hit, ...] = ()
        self.context: str | None = None
        self.answer: Answer | None = None
        self.failure: Failure | None = None
        self.seconds: dict[Stage, float] = {}

    def attempt(self, stage: Stage, work: Callable[[], T]) -> T | None:
        """Return what `work` gives; where a stage gives up, note that and return None."""
        start = time.perf_counter()
        try:
            return work()
        except StageError as error:
            self.failure = Failure(stage, str(error))
            return None
        finally:
            spent = time.perf_counter() - start
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent

    def case(self, relevance: Relevance, kinds: Iterable[Label]) -> Case:
        return Case(
            self.question,
            self.hits,
            relevance.judge(self.question, self.hits, kinds),
            self.context,
            self.answer,
            self.failure,
            relevance.keywords(self.question, self.hits) if "keywords" in kinds else (),
            relevance.touching(self.question),
        )


def _retrieve(cell: Cell, runs: Sequence[_Run], stages: Stages, k: int) -> None:
    """Fill in the hits of a batch: together, or one by one where the batch as a whole failed."""
    index = stages.searchable(cell)
    start = time.perf_counter()
    texts = [run.question.text for run in runs]
    try:
        rankings = cell.retriever.retrieve(texts, index, k)
    except StageError:
        for run, text in zip(runs, texts, strict=True):
            alone = run.attempt("retrieval", partial(_alone, cell.retriever, text, index, k))
            _rerank(cell, run, alone or [])
        return
    each = (time.perf_counter() - start) / len(runs)
    for run, ranking in zip(runs, rankings, strict=True):
        run.seconds["retrieval"] = each
        _rerank(cell, run, ranking)


def _alone(retriever: Retriever, question: str, index: Searchable, k: int) -> list[Hit]:
    return retriever.retrieve([question], index, k)[0]


def _rerank(cell: Cell, run: _Run, ranking: Sequence[Hit]) -> None:
    if run.failure is not None:
        return
    candidates = _checked(cell.retriever.name, run.question, ranking)
    reranked = run.attempt("retrieval", lambda: cell.reranker.rerank(run.question.text, candidates))
    if reranked is None:
        return
    run.hits = _checked(cell.reranker.name, run.question, reranked)
    run.candidates = () if run.hits == candidates else candidates


def _checked(component: str, question: Question, ranking: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return a ranking with each chunk once, at its first rank.

    Raises:
        RunError: a score is not finite; sorting by it would have meant nothing.
    """
    kept: dict[int, Hit] = {}
    for rank, hit in enumerate(ranking, start=1):
        if not math.isfinite(hit.score):
            raise RunError(
                f"{component!r}, question {question.id!r}: the score at rank {rank} is {hit.score}"
            )
        kept.setdefault(hit.chunk.index, hit)
    return tuple(kept.values())


def _answer(cell: Cell, run: _Run, settings: Settings) -> None:
    if run.failure is not None:
        return
    bounds = settings.context
    text = context.assemble(run.hits, bounds.chunks, bounds.tokens)
    run.context = text
    if cell.generator.answers:
        run.answer = run.attempt(
            "generation", lambda: cell.generator.answer(run.question.text, text)
        )
