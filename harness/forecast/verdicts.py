"""What judges have still to be asked: exact where an answer is kept, else at most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness import context, tokens
from harness.asked_models import model_of
from harness.chat import ChatModel
from harness.forecast.counting import Counting
from harness.judging import ByJudge
from harness.kept import Answered, Asked
from harness.metrics import Asking
from harness.records import Answer, Case, Chunk, Hit, Question, Score, Span
from harness.scoring import Named
from harness.stages import Stages
from harness.sweep import Cell

_SENTENCES = 3
"""Statements that an answer is expected to have, where none is kept."""
_SHORTEST = 8
"""Tokens of the shortest statements: a reply has no more of them than fit its length."""


@dataclass
class Verdicts:
    """What one judge is asked: these prompts, and expected and at most so many more."""

    prompts: dict[str, None] = field(default_factory=dict)
    more: int = 0
    most: int = 0
    words: int = 0


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
        for case in cases:
            if case is not None:
                items = metric.items(case)
                listed = [] if isinstance(items, Score) else items
                verdicts.prompts |= {each.prompt: None for each in listed}
                continue
            probe = metric.items(_longest(question, counting))
            shown = [] if isinstance(probe, Score) else probe
            verdicts.words = max([verdicts.words, *(tokens.count(each.prompt) for each in shown)])
            several = metric.name == "faithfulness"
            verdicts.more += len(shown) * (_SENTENCES if several else 1)
            verdicts.most += len(shown) * (_statements(cell.generator) if several else 1)


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


def _longest(question: Question, counting: Counting) -> Case:
    """Return a case as large as the settings allow, of which only sizes mean anything."""
    bounds = counting.settings.context
    hit = Hit(Chunk(0, Span("", 0, 0), "x " * bounds.tokens), 0.0)
    hits = (hit,) * counting.settings.retrieve
    said = Answer("x " * 256)
    return Case(question, hits, context="x " * bounds.tokens, answer=said)


def _statements(generator: Any) -> int:
    """Return how many statements an answer can have."""
    chat = model_of(generator)
    if chat is None:
        return int(getattr(generator, "sentences", 1))
    return max(1, -(-chat.max_tokens // _SHORTEST))
