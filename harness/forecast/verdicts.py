"""What judges have still to be asked: exact where an answer is kept, else at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness import context, oracle
from harness.asked_models import model_of
from harness.chat import ChatModel
from harness.forecast import sizes
from harness.forecast.counting import BYTES, Counting
from harness.forecast.sizes import Size
from harness.judging import ByJudge
from harness.kept import Answered, Asked
from harness.kept import Answers as Kept
from harness.metrics import Asking
from harness.oracle.asking import generators
from harness.oracle.scored import of_answers
from harness.records import Answer, Case, Chunk, Hit, Question, Score, Span
from harness.scoring import Named
from harness.stages import Stages
from harness.sweep import Cell

_SENTENCES = 3
"""Statements that an answer is expected to have, where none is kept."""
_WORDS = 256
"""Words of an answer that is not known and that no model gives."""
_SHORTEST = 8
"""Tokens of the shortest statements: a reply has no more of them than fit its length."""


@dataclass
class Verdicts:
    """What one judge is asked: these prompts, and expected and at most so many more.

    `prompts` tells in how many places each stands, and `each` is the size of the longest other.
    """

    prompts: Counter[str] = field(default_factory=Counter)
    more: int = 0
    most: int = 0
    each: Size = field(default_factory=Size)


def wanted(counting: Counting, stages: Stages, named: Sequence[Named]) -> dict[ChatModel, Verdicts]:
    """Return what the judges of a run's metrics are asked, what is kept not yet taken off."""
    metrics = [each.metric for each in named if isinstance(each.metric, Asking)]
    found: dict[ChatModel, Verdicts] = {}
    for final in counting.finals if metrics else ():
        answers = _answers(counting, stages, final.cell, final.hits)
        for metric in metrics:
            if isinstance(metric, ByJudge) and metric.judge is not None:
                verdicts = found.setdefault(metric.judge, Verdicts())
                _add(verdicts, metric, counting, final.cell, final.hits, answers)
    if metrics and counting.settings.oracle:
        _add_oracle(found, counting, stages, named)
    return found


def _add(
    verdicts: Verdicts,
    metric: ByJudge,
    counting: Counting,
    cell: Cell,
    hits: Mapping[str, tuple[Hit, ...]],
    answers: Mapping[Asked, Answered],
) -> None:
    needs: frozenset[str] = getattr(metric, "needs", frozenset())
    for question in counting.questions:
        if not question.answerable or ("answer" in needs and not cell.generator.answers):
            continue
        cases = _cases(question, counting, cell, hits, answers, "answer" in needs)
        _count(verdicts, metric, question, counting, cell, cases)


def _add_oracle(
    found: dict[ChatModel, Verdicts], counting: Counting, stages: Stages, named: Sequence[Named]
) -> None:
    """Add the verdicts on what generators answer to all evidence, and to nothing."""
    plan = counting.prepared.plan
    judged = of_answers(named, plan.labels, plan.settings.relevance_level)
    puts = oracle.puts(counting.questions, plan.settings)
    for cell in generators(counting.prepared.config.cells).values():
        kept: Kept | None = stages.answers(cell) if counting.looked(cell.generator) else None
        for put in puts:
            if put.context is None or not put.question.answerable:
                continue
            asked = (put.question.text, put.context, 0)
            made = None if kept is None else kept.get([asked]).get(asked)
            known = None
            if made is not None:
                known = Case(put.question, context=put.context, answer=made.answer)
            for metric in (each.metric for each in judged):
                if isinstance(metric, ByJudge) and metric.judge is not None:
                    verdicts = found.setdefault(metric.judge, Verdicts())
                    _count(verdicts, metric, put.question, counting, cell, [known])


def _count(
    verdicts: Verdicts,
    metric: ByJudge,
    question: Question,
    counting: Counting,
    cell: Cell,
    cases: Iterable[Case | None],
) -> None:
    for case in cases:
        if case is not None:
            items = metric.items(case)
            verdicts.prompts.update([] if isinstance(items, Score) else [e.prompt for e in items])
            continue
        probe = metric.items(_longest(question, counting, cell))
        for each in [] if isinstance(probe, Score) else probe:
            several = metric.name == "faithfulness"
            verdicts.each = verdicts.each.or_more(sizes.of(each.prompt))
            verdicts.more += _SENTENCES if several else 1
            verdicts.most += _statements(cell.generator) if several else 1


def _answers(
    counting: Counting, stages: Stages, cell: Cell, hits: Mapping[str, tuple[Hit, ...]]
) -> dict[Asked, Answered]:
    """Return the kept answers to the contexts that are known."""
    if not cell.generator.answers or not counting.looked(cell.generator):
        return {}
    asked = [
        (question.text, _read(counting, hits[question.id]), sample)
        for question in counting.questions
        if question.id in hits
        for sample in range(cell.generator.repeat)
    ]
    return stages.answers(cell).get(asked)


def _cases(
    question: Question,
    counting: Counting,
    cell: Cell,
    hits: Mapping[str, tuple[Hit, ...]],
    answers: Mapping[Asked, Answered],
    answer: bool,
) -> Iterator[Case | None]:
    """Yield a case for each verdict's answer; None where it is not known yet."""
    samples = range(cell.generator.repeat if cell.generator.answers else 1)
    if question.id not in hits:
        yield from (None for _ in samples)
        return
    read = _read(counting, hits[question.id])
    for sample in samples:
        made = answers.get((question.text, read, sample))
        if answer and made is None:
            yield None
        else:
            said = None if made is None else made.answer
            yield Case(question, hits[question.id], context=read, answer=said)


def _read(counting: Counting, hits: Sequence[Hit]) -> str:
    bounds = counting.settings.context
    return context.assemble(hits, bounds.chunks, bounds.tokens)


def _longest(question: Question, counting: Counting, cell: Cell) -> Case:
    """Return a case as large as any can be, of which only sizes mean anything."""
    room, chat = counting.room(cell.chunker), model_of(cell.generator)
    hits = (Hit(Chunk(0, Span("", 0, 0), room.chunk), 0.0),) * counting.settings.retrieve
    words = _WORDS if chat is None else chat.max_tokens
    said = Answer(f"{'x' * (BYTES - 1)} " * words)
    return Case(question, hits, context=room.context, answer=said)


def _statements(generator: Any) -> int:
    """Return how many statements an answer can have."""
    chat = model_of(generator)
    if chat is None:
        return int(getattr(generator, "sentences", 1))
    return max(1, -(-chat.max_tokens // _SHORTEST))
