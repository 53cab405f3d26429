"""Checks of the questions: too few, repeated, drafts, and those that need no retrieval."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import ceil, log2

from harness.config.grid import Cell
from harness.metrics import Metric
from harness.metrics.named_metrics import LABEL_OF_NEED, label_of, leaf_metrics
from harness.preflight.checks.check_input import (
    MAX_EXAMPLES,
    CheckInput,
    Finding,
    describe_share,
    level_of_share,
)
from harness.ranking.relevance import fold, has_label, is_yes_or_no, occurs
from harness.records import Case, Question
from harness.runs.run_inputs import RunInputs
from harness.stats import mcnemar
from harness.text import numbers, spans
from harness.text.numbers import are

_MIN_ANSWER_CHARS = 4
"""Visible characters from which an answer in a question's text is no chance."""
_LEAK_WARNING_SHARE, _MEMORY_WARNING_SHARE = 0.05, 0.1
"""The share of questions that leak, or are answered from nothing, from which it is a warning."""
_CHOICE = r"(?:\b{0},? or\b|\bor (?:(?:an?|the|in|on|at|by|of) )*{0}\b)"
"""An answer that is offered beside another."""
_WITHOUT_MODEL = ("none", "extractive")
"""Generators that say nothing which is not in their context."""
_FEW_QUESTIONS, _ENOUGH_QUESTIONS = 50, 100
_FEW_CLUSTERS = 20
_SIGNIFICANCE_LEVEL = 0.05
_DIFFERING_SHARE = 0.1
"""The share of questions on which two cells are taken to differ."""


def find_leaks(run: CheckInput) -> Iterator[Finding]:
    """Yield what leaks by answers, then by keywords."""
    questions = [(q, fold(q.text)) for q in run.questions if q.answerable]
    answered = [(question, text) for question, text in questions if question.answers]
    yield from _report_leaks(
        [q.id for q, text in answered if any(_leaks(answer, text) for answer in q.answers)],
        len(answered),
        "with an answer",
        "may give it away: it stands in their own text",
        "reword those that do: nothing need be retrieved to say it",
    )
    if run.prepared.config.settings.answer_test.keywords:
        judged = [(question, text) for question, text in questions if question.keywords]
        yield from _report_leaks(
            [q.id for q, text in judged if all(occurs(word, text) for word in q.keywords)],
            len(judged),
            "with keywords",
            "with all of them in their own text: an answer that repeats the question counts as "
            "right",
            "name keywords that only the answer has, or set answer_test: {keywords: false}",
        )


def _report_leaks(
    leaking: list[str], total: int, which: str, fact: str, remedy: str
) -> Iterator[Finding]:
    if leaking:
        level = level_of_share(len(leaking), total, _LEAK_WARNING_SHARE)
        text = f"{describe_share(len(leaking), total, 'question', f' {which}')} {fact}"
        yield Finding("leaks", level, text, remedy, tuple(leaking)[:MAX_EXAMPLES])


def _leaks(answer: str, text: str) -> bool:
    """Return whether a folded text gives an answer away; one of two that it offers is none."""
    return (
        spans.count_visible(answer) >= _MIN_ANSWER_CHARS
        and not is_yes_or_no(answer)
        and occurs(answer, text)
        and re.search(_CHOICE.format(re.escape(fold(answer))), text) is None
    )


def find_remembered(run: CheckInput) -> Iterator[Finding]:
    """Yield how many of the kept answers to no context are right, by generator; nobody is asked."""
    cells = run.prepared.config.cells
    by_generator = {
        cell.generator: cell for cell in cells if cell.generator.name not in _WITHOUT_MODEL
    }
    findings = [finding for cell in by_generator.values() for finding in _judge_known(run, cell)]
    yield from findings
    if run.deep and by_generator and not findings:
        text = "how many questions are answered without retrieval is not known"
        yield Finding("memory", "note", text, "`run --oracle` measures it")


def _judge_known(run: CheckInput, cell: Cell) -> Iterator[Finding]:
    test = run.prepared.config.settings.answer_test
    questions = {(question.text, "", 0): question for question in run.prepared.testset.questions}
    answers = run.artefacts.answers(cell).get(list(questions))
    run.cache.count("answers", reused=-len(answers))  # they are looked at, and used for nothing
    verdicts = {
        questions[key].id: test.passed(Case(questions[key], answer=reply.answer))
        for key, reply in answers.items()
        if questions[key].answerable
    }
    judged = [passed for passed in verdicts.values() if passed is not None]
    right = [id_ for id_, passed in verdicts.items() if passed]
    if judged:
        yield Finding(
            "memory",
            level_of_share(len(right), len(judged), _MEMORY_WARNING_SHARE),
            f"{describe_share(len(right), len(judged), 'question')} {are(len(right))} answered "
            f"right without any context by {cell.labels()['generator']}",
            "they measure what the model remembers, not what is retrieved" if right else "",
            tuple(right)[:MAX_EXAMPLES],
        )


def find_small_set(run: CheckInput) -> Iterator[Finding]:
    """Yield that the questions asked are few, and the smallest difference that they show.

    That is a note, which no run keeps: its report has the figure of its own scores.
    """
    prepared = run.prepared
    n, metric_name = _count_judged(prepared), prepared.config.decide_by
    total, shows = len(prepared.testset.questions), describe_smallest_difference(n)
    if prepared.sample is not None:
        line = prepared.sample.line
        when = "chosen once" if line.day is None else f"those of {line.day}"
        judged = "" if n == total else f"; {metric_name} judges {n:,} of them"
        text = f"a sample of {line.size} of the {line.of} questions, {when}{judged}"
        yield Finding("size", "warning", text, "several runs taken together show more")
        yield Finding("size", "note", shows)
    elif n < _ENOUGH_QUESTIONS:
        more = "`python -m harness draft` proposes more"
        whose = "" if n == total else f" of {total:,} that {metric_name} judges"
        counted = f"{numbers.count(n, 'question')}{whose} {are(n)}"
        if n < _FEW_QUESTIONS:
            yield Finding("size", "warning", f"{counted} few", more)
            yield Finding("size", "note", shows)
        else:
            yield Finding("size", "note", f"{counted} not many: {shows}", more)
    if prepared.clusters is not None:
        clusters = len(set(prepared.clusters.values()))
        if clusters < _FEW_CLUSTERS:
            text = f"{numbers.count(clusters, 'cluster')} of questions {are(clusters)} too few"
            yield Finding("size", "warning", f"{text} for an interval to rest on")


def _count_judged(prepared: RunInputs) -> int:
    """Return how many questions the deciding metric looks at."""
    plan, metric_name = prepared.plan, prepared.config.decide_by
    metric = next(named.metric for named in plan.metrics if named.name == metric_name)
    parts = leaf_metrics(metric, plan.labels, plan.settings.relevance_level)
    return sum(
        all(_applies(part, question) for part in parts) for question in prepared.testset.questions
    )


def _applies(metric: Metric, question: Question) -> bool:
    if not question.answerable and not getattr(metric, "unanswerable", False):
        return False
    labels = {LABEL_OF_NEED[need] for need in metric.needs if need in LABEL_OF_NEED}
    return all(
        has_label(question, kind) for kind in labels | {label_of(metric)} if kind is not None
    )


def describe_smallest_difference(n: int) -> str:
    """Return in words the smallest differences of a 0/1 metric that `n` questions show.

    By McNemar's exact test at 5 %, of one pair of cells: the smallest that can be significant, as
    all questions that change go one way, and the one that is found with 80 % power where one
    question in ten differs, or where that is less than the difference, where all go one way.
    """
    pairs = ceil(1 - log2(_SIGNIFICANCE_LEVEL))  # 2 × 0.5 ** pairs is at most the level
    if n < pairs:
        return "no difference between two cells can be significant"
    text = f"between two cells, differences under {pairs / n:.3f} ({pairs} questions) cannot show"
    rejecting = mcnemar.wins_that_reject(n, _SIGNIFICANCE_LEVEL)
    difference = mcnemar.smallest_detectable(n, round(_DIFFERING_SHARE * n), rejecting)
    if difference is None or difference >= 1:
        return text
    where = "all that change go one way"
    if difference <= _DIFFERING_SHARE:
        where = "one question in ten differs"
    return f"{text}, and {difference:.3f} shows four times in five where {where}"


def find_poor_questions(run: CheckInput) -> Iterator[Finding]:
    """Yield repeated questions, drafts among those asked, and that none is unanswerable."""
    same: dict[str, list[str]] = {}
    for question in run.questions:
        same.setdefault(fold(question.text), []).append(question.id)
    repeated = [ids for ids in same.values() if len(ids) > 1]
    if repeated:
        more = len(run.questions) - len(same)
        yield Finding(
            "questions",
            "warning",
            f"{describe_share(more, len(run.questions), 'question')} "
            f"{'repeats' if more == 1 else 'repeat'} the text of another: "
            "what is asked twice counts twice",
            "take them out, or join their labels",
            tuple(" = ".join(ids[:MAX_EXAMPLES]) for ids in repeated[:MAX_EXAMPLES]),
        )
    testset = run.prepared.testset
    if testset.unaccepted:
        yield Finding(
            "questions",
            "warning",
            f"{testset.unaccepted} of {len(testset.questions)} questions are drafts that no "
            "person has accepted",
            "read them, then `python -m harness draft accept`",
        )
    if all(question.answerable for question in run.questions):
        yield Finding(
            "questions",
            "note",
            "no question is unanswerable: whether the system says so when it does not know is "
            "not measured",
            "add some, with `answerable: false`",
        )
