"""Finds questions that a generator answers without context, from the model's memory."""

from __future__ import annotations

from collections.abc import Iterator

from harness.config.grid import Cell
from harness.preflight.checks.check_input import MAX_EXAMPLES, CheckInput, Finding, describe_share
from harness.records import Case
from harness.text.numbers import are

_WARNING_SHARE = 0.1
"""The share of questions answered right from nothing from which it is a warning."""
_WITHOUT_MODEL = ("none", "extractive")
"""Generators that say nothing which is not in their context."""


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
            "warning" if len(right) > _WARNING_SHARE * len(judged) else "note",
            f"{describe_share(len(right), len(judged), 'question')} {are(len(right))} answered "
            f"right without any context by {cell.labels()['generator']}",
            "they measure what the model remembers, not what is retrieved" if right else "",
            tuple(right)[:MAX_EXAMPLES],
        )
