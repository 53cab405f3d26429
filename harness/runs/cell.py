"""Runs one cell: retrieve, assemble the context, answer, score. Yields outcomes, never writes.

Each stage asks the cache first, and keeps there what it had to make.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeVar

from harness.cache.tables import ReplyTable
from harness.config.grid import Cell, RunPlan
from harness.config.resolved import model_of
from harness.errors import RunError, StageError
from harness.models.concurrency import CallResult
from harness.ranking import context
from harness.ranking.relevance import Relevance
from harness.records import Answer, Case, Chunk, Failure, Hit, Label, Outcome, Question, Span, Stage
from harness.retrievers import SearchContext
from harness.runs import loop, scoring
from harness.runs.artefacts import Artefacts
from harness.runs.attribution import TracedQuestion, trace_losses
from harness.runs.outcomes import make_outcome
from harness.runs.result_tables import (
    AnswerRequest,
    TimedAnswer,
    TimedRanking,
)

T = TypeVar("T")
AnswerResult = CallResult[AnswerRequest, Answer | None]
"""What became of one request: an answer, None from a generator that gives none, or a failure."""


def cell_outcomes(
    cell: Cell,
    questions: Iterable[Question],
    artefacts: Artefacts,
    plan: RunPlan,
    report: loop.Report = lambda question, failure: None,
) -> Iterator[tuple[Outcome, list[Chunk]]]:
    """Yield the outcome of each question in one cell, in order; see `loop.outcomes`."""
    subject = CellSubject(cell, artefacts, plan)
    return loop.outcomes(subject, questions, artefacts.ledger.timed, report, plan.asks_judge)


@dataclass
class QuestionState(loop.Asked[AnswerRequest, Answer | None]):
    """A question, and what has become of it so far."""

    candidates: tuple[Hit, ...] = ()
    hits: tuple[Hit, ...] = ()
    searched: tuple[str, ...] = ()
    context: str | None = None
    prompt: Sequence[Span] = ()
    seconds: dict[Stage, float] = field(default_factory=dict)

    def spend(self, stage: Stage, seconds: float) -> None:
        """Add the seconds that a stage took."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def cases(self, relevance: Relevance, kinds: Iterable[Label]) -> list[Case]:
        """Return a case for each answer, by the number of its sample; one where there is none."""
        case = Case(
            self.question,
            self.hits,
            relevance.judge(self.question, self.hits, kinds),
            self.context,
            None,
            self.failure,
            relevance.keywords(self.question, self.hits) if "keywords" in kinds else (),
            relevance.spans_near_gold(self.question),
        )
        if self.failure is not None or not self.requests:
            return [case]
        return [replace(case, answer=self.replies[key].answer) for key in self.requests]


class AnswerCalls:
    """Asks a generator; the cache keeps its answers."""

    stage = "generation"

    def __init__(self, cell: Cell, artefacts: Artefacts, plan: RunPlan) -> None:
        self.cell = cell
        self.artefacts = artefacts
        self.plan = plan
        self.at_once = cell.generator.at_once if cell.generator.answers else 1

    @cached_property
    def answers(self) -> ReplyTable[TimedAnswer]:
        """The answers that are kept of the generator."""
        return self.artefacts.answers(self.cell)

    def known(self, requests: Sequence[AnswerRequest]) -> Mapping[AnswerRequest, AnswerResult]:
        """Return the answers that are kept."""
        stored = self.answers.get(requests)
        return {
            key: CallResult(key, timed.answer, None, timed.seconds) for key, timed in stored.items()
        }

    def answer_one(self, request: AnswerRequest) -> Answer | None:
        """Ask the generator."""
        return self.cell.generator.answer(*request)

    def keep(self, result: AnswerResult) -> None:
        """Keep a new answer, and count what it took."""
        self.answers.put({result.key: TimedAnswer(result.answer, result.seconds)})
        answer, model = result.answer, model_of(self.cell.generator)
        if answer is not None and model is not None:
            self.artefacts.spend(model.shown, answer.tokens_in, answer.tokens_out)


class CellSubject(AnswerCalls):
    """One cell: questions are retrieved and scored in batches, and each is answered alone."""

    def prepare(self, questions: Sequence[Question]) -> list[QuestionState]:
        """Retrieve, rerank and cut the contexts."""
        states = [QuestionState(question) for question in questions]
        self._search(states)
        bounds, generator = self.plan.settings.context, self.cell.generator
        for state in states:
            if state.failure is None:
                parts = context.cut_hits(state.hits, bounds.chunks, bounds.tokens)
                state.prompt = [span for span, _ in parts]
                state.context = read = context.join_parts(parts)
                samples = range(generator.repeat if generator.answers else 0)
                state.requests = [(state.question.text, read, sample) for sample in samples]
        return states

    def end(self, asked: QuestionState) -> None:
        """Add up the seconds; one answer that failed fails the question."""
        replies = [asked.replies[key] for key in asked.requests]
        asked.spend("generation", sum(reply.seconds for reply in replies) / len(replies))
        failures = [reply.failure for reply in replies if reply.failure is not None]
        if failures:
            asked.failure = Failure("generation", failures[0])

    def score(self, batch: Sequence[QuestionState]) -> Iterator[tuple[Outcome, list[Chunk]]]:
        """Score the answers, and find where those were lost that are not right."""
        cell, artefacts, plan, name = self.cell, self.artefacts, self.plan, self.cell.name
        relevance, timed = artefacts.relevance(cell.chunker), artefacts.ledger.timed
        with timed("scoring"):
            sampled = [state.cases(relevance, plan.kinds) for state in batch]
            level = plan.settings.relevance_level
            scores = scoring.score_sampled(
                plan.metrics, sampled, plan.labels, level, artefacts.scores
            )
        with timed("attribution"):
            traced = [
                TracedQuestion(cases[0], state.candidates, state.prompt)
                for cases, state in zip(sampled, batch, strict=True)
            ]
            attributions = trace_losses(cell, traced, artefacts, plan)
        for state, cases, (row, samples), attribution in zip(
            batch, sampled, scores, attributions, strict=True
        ):
            candidates = () if state.hits == state.candidates else state.candidates
            yield make_outcome(
                name,
                cases[0],
                row,
                plan.labels,
                candidates,
                state.seconds,
                samples,
                state.searched,
                attribution,
            )

    def _search(self, states: Sequence[QuestionState]) -> None:
        """Fill in the candidates and the hits of a batch."""
        timed = self.artefacts.ledger.timed
        with timed("retrieval"):
            rankings = self.artefacts.rankings(self.cell)
            stored = rankings.get([state.question for state in states])
            new = [state for state in states if state.question.id not in stored]
            fresh = self.retrieve(new) if new else {}
            rankings.put(
                [(s.question, fresh[s.question.id]) for s in new if s.question.id in fresh]
            )
        for state in states:
            ranked = stored.get(state.question.id) or fresh.get(state.question.id)
            if ranked is not None:
                state.candidates = self.artefacts.to_parent_hits(self.cell, ranked.hits)
                state.hits = state.candidates
                state.searched = ranked.searched
                state.spend("retrieval", ranked.seconds)
        if self.cell.reranker.name != "none":
            with timed("reranking"):
                self._rerank([state for state in states if state.failure is None])

    def _rerank(self, states: Sequence[QuestionState]) -> None:
        """Put the hits of a batch into another order."""
        table = self.artefacts.rerankings(self.cell)
        stored = table.get([state.question for state in states])
        new = [state for state in states if state.question.id not in stored]
        for state, ranked in self.rerank(new):
            table.put([(state.question, ranked)])
            stored[state.question.id] = ranked
        for state in states:
            if state.failure is None:
                ranked = stored[state.question.id]
                state.hits = ranked.hits
                state.spend("retrieval", ranked.seconds)

    def retrieve(self, states: Sequence[QuestionState]) -> dict[str, TimedRanking]:
        """Ask the retriever: all together, or one by one where the batch as a whole failed.

        A question's seconds are the retriever's own: what is made once, its index and the vectors
        of questions, is timed apart.
        """
        ledger, index = self.artefacts.ledger, self.artefacts.searchable(self.cell)
        start = ledger.spent("retrieval")
        try:
            rankings = self._ask_retriever(states, index)
        except StageError:
            alone = [
                (state, _attempt(state, partial(self._ask_retriever, [state], index)))
                for state in states
            ]
            return {
                state.question.id: replace(attempt[0][0], seconds=attempt[1])
                for state, attempt in alone
                if attempt
            }
        seconds = (ledger.spent("retrieval") - start) / len(states)
        return {
            state.question.id: replace(ranking, seconds=seconds)
            for state, ranking in zip(states, rankings, strict=True)
        }

    def rerank(
        self, states: Sequence[QuestionState]
    ) -> Iterator[tuple[QuestionState, TimedRanking]]:
        """Yield the new ranking of each question; none where the reranker gave up."""
        reranker = self.cell.reranker
        prepare = getattr(reranker, "prepare", None)
        if prepare is not None:
            # What a model reads is embedded for all questions together, which takes far less time.
            prepare([(state.question.text, state.candidates) for state in states])
        for state in states:
            state.hits = ()
            attempt = _attempt(
                state, partial(reranker.rerank, state.question.text, state.candidates)
            )
            if attempt is not None:
                ranking = _check_ranking(reranker.name, state.question, attempt[0])
                yield state, TimedRanking(ranking, attempt[1])

    def _ask_retriever(
        self, states: Sequence[QuestionState], index: SearchContext
    ) -> list[TimedRanking]:
        retriever = self.cell.retriever
        questions = [state.question.text for state in states]
        rankings = retriever.retrieve(questions, index, self.plan.settings.retrieve)
        texts = getattr(retriever, "texts", None)
        searched = [()] * len(states) if texts is None else texts(questions, index)
        return [
            TimedRanking(
                _check_ranking(retriever.name, state.question, ranking), 0.0, tuple(rewordings)
            )
            for state, ranking, rewordings in zip(states, rankings, searched, strict=True)
        ]


def _attempt(state: QuestionState, work: Callable[[], T]) -> tuple[T, float] | None:
    """Return what `work` gives and the time it took; where it gives up, note that, and None."""
    start = time.perf_counter()
    try:
        return work(), time.perf_counter() - start
    except StageError as error:
        state.failure = Failure("retrieval", str(error))
        state.spend("retrieval", time.perf_counter() - start)
        return None


def _check_ranking(component: str, question: Question, ranking: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return a ranking with each chunk once, at its first rank.

    Raises:
        RunError: a score is not finite; sorting by it would have meant nothing.
    """
    hits: dict[int, Hit] = {}
    for rank, hit in enumerate(ranking, start=1):
        if not math.isfinite(hit.score):
            raise RunError(
                f"{component!r}, question {question.id!r}: "
                f"the score at rank {rank} is {hit.score}\n"
                "  nothing can be ranked by it: look at the model, or the code, that gives it"
            )
        hits.setdefault(hit.chunk.index, Hit(hit.chunk, float(hit.score)))
    return tuple(hits.values())
