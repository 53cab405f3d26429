"""A cell to outcomes: retrieve, assemble the context, answer, score. Yields, and never writes.

Each stage asks the cache first, and keeps there what it had to make.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TypeVar

from harness import scoring
from harness.answers import Asking
from harness.batches import batched
from harness.errors import RunError, StageError
from harness.kept import Asked, Ranked, Rankings
from harness.plan import Plan
from harness.records import Failure, Hit, Outcome, Question
from harness.stages import Stages
from harness.sweep import Cell
from harness.tracing import Followed, attributions
from harness.underway import Underway

T = TypeVar("T")
_BATCH = 256
"""How many questions are retrieved and scored together; each answer is kept at once."""
_AHEAD = 4
"""How many such batches there are at once, at most, lest one slow answer holds up all."""


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
    with closing(_answered(cell, questions, stages, plan, told)) as answered:
        for runs in answered:
            yield from _scored(cell, runs, stages, plan)


def _scored(cell: Cell, runs: Sequence[Underway], stages: Stages, plan: Plan) -> Iterator[Outcome]:
    relevance, timed = stages.relevance(cell.chunker), stages.ledger.timed
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


def _answered(
    cell: Cell,
    questions: Iterable[Question],
    stages: Stages,
    plan: Plan,
    told: Callable[[str, Failure | None], None],
) -> Generator[list[Underway], None, None]:
    """Yield the questions in batches, in order, each once all of it is answered.

    While the last answers of a batch are awaited, those of the next are asked for.
    """
    generator, timed = cell.generator, stages.ledger.timed
    left = deque(batched(questions, _BATCH))
    begun: deque[list[Underway]] = deque()
    most = _AHEAD if generator.answers and generator.at_once > 1 else 1
    asking = Asking(generator, stages.answers(cell))
    waiting: dict[Asked, list[Underway]] = {}
    unasked: deque[Underway] = deque()

    def more() -> None:
        while left and len(begun) < most and asking.idle and not unasked:
            runs = [Underway(question) for question in left.popleft()]
            begun.append(runs)
            _search(cell, runs, stages, plan.settings.retrieve)
            new: list[Asked] = []
            for run in runs:
                wanted = run.wanted(generator, plan.settings.context)
                new += [key for key in wanted if key not in waiting]
                for key in wanted:
                    waiting.setdefault(key, []).append(run)
                unasked.extend([] if wanted else [run])
            asking.want(new)

    try:
        while left or begun:
            with closing(asking.done(more)) as answers:
                while True:
                    with timed("generation"):
                        done = next(answers, None)
                    ended = [*unasked]
                    unasked.clear()
                    if done is not None:
                        asked = waiting.pop(done.key)
                        for run in asked:
                            run.answered(done, generator.repeat)
                        ended += [run for run in asked if run.ended]
                    for run in ended:
                        told(run.question.id, run.failure)
                    while begun and all(run.ended for run in begun[0]):
                        yield begun.popleft()
                    if done is None:
                        break
    except (KeyboardInterrupt, Exception):
        if not plan.asks:  # verdicts would take time, and more of a budget that is spent
            yield from ([run for run in runs if run.ended] for runs in begun)
        raise


def _search(cell: Cell, runs: Sequence[Underway], stages: Stages, k: int) -> None:
    """Fill in the candidates and the hits of a batch."""
    with stages.ledger.timed("retrieval"):
        _retrieve(cell, runs, stages, k)
    for run in runs:
        run.candidates = stages.handed_over(cell, run.candidates)
        run.hits = run.candidates
    if cell.reranker.name != "none":
        for run in runs:
            run.hits = ()
        with stages.ledger.timed("reranking"):
            _rerank(cell, runs, stages.reranked(cell))


def _retrieve(cell: Cell, runs: Sequence[Underway], stages: Stages, k: int) -> None:
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


def _asked(cell: Cell, runs: Sequence[Underway], stages: Stages, k: int) -> dict[str, Ranked]:
    """Ask the retriever: all together, or one by one where the batch as a whole failed.

    A question's seconds are the retriever's own: what is made once, its index and the vectors of
    questions, is timed apart.
    """
    index = stages.searchable(cell)
    start = stages.ledger.spent("retrieval")

    def ask(some: Sequence[Underway]) -> list[Ranked]:
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


def _rerank(cell: Cell, runs: Sequence[Underway], kept: Rankings) -> None:
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


def _attempt(run: Underway, work: Callable[[], T]) -> tuple[T, float] | None:
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
