"""A cell to outcomes: retrieve, assemble the context, answer, score. Yields, and never writes.

Each stage asks the cache first, and keeps there what it had to make.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TypeVar

from harness import context, scoring
from harness.answering import Done
from harness.answers import known_or_asked
from harness.batches import batched
from harness.errors import RunError, StageError
from harness.kept import Asked, Ranked, Rankings
from harness.plan import Plan
from harness.records import Answer, Case, Failure, Hit, Label, Outcome, Question, Span, Stage
from harness.relevance import Relevance
from harness.settings import Settings
from harness.stages import Stages
from harness.sweep import Cell
from harness.tracing import Followed, attributions

T = TypeVar("T")
_BATCH = 256
"""How many questions are retrieved and scored together; each answer is kept at once."""


def outcomes(
    cell: Cell,
    questions: Iterable[Question],
    stages: Stages,
    plan: Plan,
    told: Callable[[str, Failure | None], None] = lambda question, failure: None,
) -> Iterator[Outcome]:
    """Yield the outcome of each question in one cell, in order.

    A `StageError` becomes the failure of its question; any other error ends the run, once what had
    been answered by then has been yielded. `told` is given each question that is answered, at once,
    or failed; what it raises ends the run too.
    """
    relevance, timed = stages.relevance(cell.chunker), stages.ledger.timed
    for batch in batched(questions, _BATCH):
        runs = [_Run(question) for question in batch]
        with timed("retrieval"):
            _retrieve(cell, runs, stages, plan.settings.retrieve)
        for run in runs:
            run.candidates = stages.handed_over(cell, run.candidates)
        if cell.reranker.name == "none":
            for run in runs:
                run.hits = run.candidates
        else:
            with timed("reranking"):
                _rerank(cell, runs, stages.reranked(cell))
        stopped: BaseException | None = None
        with timed("generation"):
            try:
                with closing(_answered(cell, runs, stages, plan.settings)) as done:
                    for run in done:
                        told(run.question.id, run.failure)
            except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001  it is raised below
                stopped, runs = error, [run for run in runs if run.ended]
        with timed("scoring"):
            sampled = [run.cases(relevance, plan.kinds) for run in runs]
            level = plan.settings.relevance_level
            scores = scoring.score_sampled(plan.metrics, sampled, plan.labels, level, stages.scores)
        with timed("attribution"):
            firsts = [cases[0] for cases in sampled]
            followed = [
                Followed(case, run.candidates, run.prompt)
                for case, run in zip(firsts, runs, strict=True)
            ]
            lost = attributions(cell, followed, stages, plan)
        for run, case, (row, samples), where in zip(runs, firsts, scores, lost, strict=True):
            changed = () if run.hits == run.candidates else run.candidates
            yield Outcome(cell.name, case, row, changed, run.seconds, samples, run.searched, where)
        if stopped is not None:
            raise stopped


class _Run:
    """One question on its way through a cell."""

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
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def answered(self, sample: int, done: Done[Asked], of: int) -> None:
        """Take one of `of` answers; one that failed fails the question."""
        self.answers[sample] = done.answer
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


def _retrieve(cell: Cell, runs: Sequence[_Run], stages: Stages, k: int) -> None:
    """Fill in the candidates of a batch."""
    kept = stages.rankings(cell)
    known = kept.get([run.question for run in runs])
    new = [run for run in runs if run.question.id not in known]
    made = _asked(cell, new, stages, k) if new else {}
    kept.put([(run.question, made[run.question.id]) for run in new if run.question.id in made])
    for run in runs:
        ranked = known.get(run.question.id) or made.get(run.question.id)
        if ranked is not None:
            run.candidates = ranked.hits
            run.searched = ranked.searched
            run.spend("retrieval", ranked.seconds)


def _asked(cell: Cell, runs: Sequence[_Run], stages: Stages, k: int) -> dict[str, Ranked]:
    """Ask the retriever: all together, or one by one where the batch as a whole failed.

    A question's seconds are the retriever's own: what is made once, its index and the vectors of
    questions, is timed apart.
    """
    index = stages.searchable(cell)
    start = stages.ledger.spent("retrieval")

    def ask(some: Sequence[_Run]) -> list[Ranked]:
        questions = [run.question.text for run in some]
        rankings = cell.retriever.retrieve(questions, index, k)
        texts = getattr(cell.retriever, "texts", None)
        searched = [()] * len(some) if texts is None else texts(questions, index)
        name = cell.retriever.name
        return [
            Ranked(_checked(name, run.question, ranking), 0.0, tuple(each))
            for run, ranking, each in zip(some, rankings, searched, strict=True)
        ]

    try:
        found = ask(runs)
    except StageError:
        alone = {run.question.id: _attempt(run, partial(ask, [run])) for run in runs}
        return {id_: replace(made[0][0], seconds=made[1]) for id_, made in alone.items() if made}
    each = (stages.ledger.spent("retrieval") - start) / len(runs)
    ids = [run.question.id for run in runs]
    return {id_: replace(made, seconds=each) for id_, made in zip(ids, found, strict=True)}


def _rerank(cell: Cell, runs: Sequence[_Run], kept: Rankings) -> None:
    """Fill in the hits of a batch."""
    known = kept.get([run.question for run in runs])
    prepare = getattr(cell.reranker, "prepare", None)
    if prepare is not None:
        # What a model reads is embedded for all questions together, which takes far less time.
        new = [r for r in runs if r.failure is None and r.question.id not in known]
        prepare([(run.question.text, run.candidates) for run in new])
    for run in runs:
        if run.failure is not None:
            continue
        ranked = known.get(run.question.id)
        if ranked is None:
            made = _attempt(run, partial(cell.reranker.rerank, run.question.text, run.candidates))
            if made is None:
                continue
            ranked = Ranked(_checked(cell.reranker.name, run.question, made[0]), made[1])
            kept.put([(run.question, ranked)])
        run.hits = ranked.hits
        run.spend("retrieval", ranked.seconds)


def _attempt(run: _Run, work: Callable[[], T]) -> tuple[T, float] | None:
    """Return what `work` gives and the time it took; where it gives up, note that, and None."""
    start = time.perf_counter()
    try:
        return work(), time.perf_counter() - start
    except StageError as error:
        run.failure = Failure("retrieval", str(error))
        run.spend("retrieval", time.perf_counter() - start)
        return None


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
        kept.setdefault(hit.chunk.index, Hit(hit.chunk, float(hit.score)))
    return tuple(kept.values())


def _answered(
    cell: Cell, runs: Sequence[_Run], stages: Stages, settings: Settings
) -> Generator[_Run, None, None]:
    """Fill in the context and the answers of a batch, and yield each question as it is done."""
    asked: dict[tuple[str, str], list[_Run]] = {}
    bounds = settings.context
    for run in runs:
        if run.failure is None:
            parts = context.cut(run.hits, bounds.chunks, bounds.tokens)
            run.prompt = [span for span, _ in parts]
            run.context = context.joined(parts)
        if run.failure is None and cell.generator.answers:
            assert run.context is not None
            asked.setdefault((run.question.text, run.context), []).append(run)
        else:
            run.ended = True
            yield run
    repeat = cell.generator.repeat
    wanted = [(*key, sample) for key in asked for sample in range(repeat)]
    with closing(known_or_asked(cell.generator, wanted, stages.answers(cell))) as calls:
        for done in calls:
            question, sent, sample = done.key
            for run in asked[question, sent]:
                run.answered(sample, done, repeat)
                if run.ended:
                    yield run
