"""Runs the oracle beside a run's cells, and summarises its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import get_args

from harness.config.grid import Cell, RunPlan
from harness.config.resolved import models_of_cell
from harness.ranking import context, relevance
from harness.records import Case, Chunk, Failure, Hit, Question
from harness.runs import loop
from harness.runs.artefacts import Artefacts
from harness.runs.cell import AnswerCalls, QuestionState
from harness.runs.oracle.oracle_scores import chunker_ceiling, score_records, summarise
from harness.runs.outcomes import usage_of
from harness.store import expenses
from harness.store.run_file import ChunkerCeiling, Given, OracleOutcome, OracleResult, PriceList

KINDS: tuple[Given, ...] = get_args(Given)
RecordCallback = Callable[[str, str, Failure | None], None]
"""Receives of each question what is being asked, its id, and whether it failed."""


class OracleRun:
    """Asks the generators of a run beside its cells, and sums up what they answered."""

    def __init__(
        self, questions: Sequence[Question], plan: RunPlan, clusters: Mapping[str, str] | None
    ) -> None:
        self.records: list[OracleOutcome] = []
        self._questions = {question.id: question for question in questions}
        self._plan = plan
        self._clusters = clusters
        self._ceilings: dict[str, ChunkerCeiling] = {}

    def add_ceiling(self, cell: Cell, questions: Sequence[Question], artefacts: Artefacts) -> None:
        """Note what the chunker of a cell allows on the questions that were asked there.

        The first cell of each chunker is looked at.
        """
        chunker = str(cell.labels()["chunker"])
        if chunker not in self._ceilings:
            near = artefacts.relevance(cell.chunker).spans_near_gold
            self._ceilings[chunker] = chunker_ceiling(
                chunker,
                self._plan.settings.context.chunks,
                [(question, near(question)) for question in questions],
                self._clusters,
            )

    def ask(self, cells: Iterable[Cell], artefacts: Artefacts, report: RecordCallback) -> None:
        """Ask every generator that answers; whatever ends this, what was answered is kept.

        Raises:
            Exception: what a generator or `report` raised, other than `StageError`.
        """
        questions = list(self._questions.values())
        for subject in oracle_subjects(cells, questions, self._plan, artefacts):
            for record in loop.outcomes(
                subject,
                questions,
                artefacts.ledger.timed,
                partial(report, subject.work),
                self._plan.asks_judge,
            ):
                self.records.append(record)

    def summaries(
        self, cells: Iterable[Cell], prices: PriceList | None
    ) -> tuple[OracleResult, ...]:
        """Return what each generator came to with each of the two, so far, and what that took."""
        by_name = answering_generators(cells)
        lines: list[OracleResult] = []
        for line, records in summarise(self.records, self._plan.metrics, self._clusters):
            model, _ = models_of_cell(by_name[line.generator])
            usages = [record.usage for record in records if record.usage is not None]
            spent = expenses.sum_spent(usages, len(usages), model, [], prices)
            lines.append(replace(line, spent=spent))
        return tuple(lines)

    def ceilings(self) -> tuple[ChunkerCeiling, ...]:
        """Return what each chunker allows, of those looked at so far."""
        return tuple(self._ceilings.values())


def oracle_subjects(
    cells: Iterable[Cell], questions: Sequence[Question], plan: RunPlan, artefacts: Artefacts
) -> Iterator[OracleSubject]:
    """Yield each generator that answers, twice: with all evidence, and with nothing."""
    tokens = plan.settings.context.tokens
    contexts: dict[Given, dict[str, str | None]] = {
        "evidence": {q.id: evidence_context(q, tokens) for q in questions},
        "nothing": dict.fromkeys((q.id for q in questions), ""),
    }
    for name, cell in answering_generators(cells).items():
        for given in KINDS:
            yield OracleSubject(name, cell, given, contexts[given], plan, artefacts)


class OracleSubject(AnswerCalls):
    """One generator that is given all evidence, or nothing; its first answer alone is asked for."""

    stage = "oracle"

    def __init__(
        self,
        name: str,
        cell: Cell,
        given: Given,
        contexts: Mapping[str, str | None],
        plan: RunPlan,
        artefacts: Artefacts,
    ) -> None:
        super().__init__(cell, artefacts, plan)
        self.work = f"oracle: {given}, {name}"
        self._name = name
        self._given = given
        self._contexts = contexts

    def prepare(self, questions: Sequence[Question]) -> list[QuestionState]:
        """Return what is asked; of a question without evidence, nothing."""
        states = [
            QuestionState(question, context=self._contexts[question.id]) for question in questions
        ]
        for state in states:
            if state.context is not None:
                state.requests = [(state.question.text, state.context, 0)]
        return states

    def end(self, asked: QuestionState) -> None:
        """Note whether the generator failed."""
        (reply,) = asked.replies.values()
        if reply.failure is not None:
            asked.failure = Failure("generation", reply.failure)

    def score(self, batch: Sequence[QuestionState]) -> list[OracleOutcome]:
        """Score the answers."""
        settings = self.plan.settings
        return score_records(
            [self._record(asked) for asked in batch],
            {asked.question.id: asked.question for asked in batch},
            self.plan.metrics,
            self.plan.labels,
            settings.relevance_level,
            settings.answer_test,
            self.artefacts.scores,
        )

    def _record(self, asked: QuestionState) -> OracleOutcome:
        reply = next(iter(asked.replies.values()), None)
        answer = None if reply is None else reply.answer
        return OracleOutcome(
            generator=self._name,
            given=self._given,
            question=asked.question.id,
            context=asked.context,
            answer=None if answer is None else answer.text,
            declined=None if answer is None else answer.declined,
            answered=None,
            usage=usage_of(answer),
            seconds=0.0 if reply is None else reply.seconds,
            scores={},
            error=asked.failure,
        )


def answering_generators(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Return by its name each generator of a grid that answers, as the first cell that has it."""
    cells_by_name: dict[str, Cell] = {}
    for cell in cells:
        if cell.generator.answers:
            cells_by_name.setdefault(str(cell.labels()["generator"]), cell)
    return cells_by_name


def evidence_context(question: Question, tokens: int) -> str | None:
    """Return the gold passages as a context of at most `tokens` tokens.

    Of each group the passage that the test set names first, in the order of the documents. None
    where there is none, or the question is unanswerable.
    """
    if not question.passages or not question.answerable:
        return None
    firsts = {
        group[0].span: group[0] for group in relevance.passage_groups(Case(question)).values()
    }
    hits = [
        Hit(Chunk(index, span, firsts[span].text), 0.0) for index, span in enumerate(sorted(firsts))
    ]
    return context.assemble_context(hits, len(hits), tokens)
