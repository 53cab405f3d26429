"""Finds questions that a generator answers without context, from the model's memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.config.grid import Cell
from harness.preflight.checks import MAX_EXAMPLES, CheckInput, Finding, Part, checks
from harness.records import Case
from harness.text import numbers
from harness.text.numbers import are

_WARNING_SHARE = 0.1
"""The share of questions answered right from nothing from which it is a warning."""


@checks.register
@dataclass(frozen=True)
class Memory:
    """Questions answered right without any context, where an earlier run has asked for that."""

    name: ClassVar[str] = "memory"
    order: ClassVar[int] = 100
    reads: ClassVar[tuple[Part, ...] | None] = None

    def is_expensive(self, run: CheckInput) -> bool:
        """Return False: only answers that are kept are looked at, and nobody is asked."""
        return False

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield how many of the known answers to no context are right, by generator."""
        cells = run.prepared.config.cells
        by_generator = {
            cell.generator: cell for cell in cells if cell.generator.name not in _WITHOUT_MODEL
        }
        findings = [_find_remembered(run, cell) for cell in by_generator.values()]
        yield from (finding for finding in findings if finding is not None)
        if run.deep and by_generator and not any(findings):
            yield Finding(
                self.name,
                "note",
                "how many questions are answered without retrieval is not known",
                "`run --oracle` measures it",
            )


_WITHOUT_MODEL = frozenset({"none", "extractive"})
"""Generators that say nothing which is not in their context."""


def _find_remembered(run: CheckInput, cell: Cell) -> Finding | None:
    settings = run.prepared.config.settings
    questions = {(question.text, "", 0): question for question in run.prepared.testset.questions}
    answers = run.artefacts.answers(cell).get(list(questions))
    run.cache.count("answers", reused=-len(answers))  # they are looked at, and used for nothing
    verdicts = {
        questions[key].id: settings.answer_test.passed(Case(questions[key], answer=reply.answer))
        for key, reply in answers.items()
        if questions[key].answerable
    }
    judged = {id_: right for id_, right in verdicts.items() if right is not None}
    right = [id_ for id_, passed in judged.items() if passed]
    if not judged:
        return None
    share = len(right) / len(judged)
    return Finding(
        "memory",
        "warning" if share > _WARNING_SHARE else "note",
        f"{len(right):,} of {numbers.count(len(judged), 'question')} ({numbers.percent(share)}) "
        f"{are(len(right))} answered right without any context by {cell.labels()['generator']}",
        "they measure what the model remembers, not what is retrieved" if right else "",
        tuple(right)[:MAX_EXAMPLES],
    )
