"""Questions that a generator answers from nothing: they measure what its model remembers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.findings import EXAMPLES, Finding, Look, Part, checks
from harness.numbers import are
from harness.records import Case
from harness.sweep import Cell

_MANY = 0.1
"""The share of questions answered right from nothing from which it is a warning."""


@checks.register
@dataclass(frozen=True)
class Memory:
    """Questions answered right without any context, where an earlier run has asked for that."""

    name: ClassVar[str] = "memory"
    order: ClassVar[int] = 100
    reads: ClassVar[tuple[Part, ...] | None] = None

    def dear(self, look: Look) -> bool:
        """Return False: only answers that are kept are looked at, and nobody is asked."""
        return False

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield how many of the known answers to no context are right, by generator."""
        cells = look.prepared.config.cells
        by_generator = {
            cell.generator: cell for cell in cells if cell.generator.name not in _WITHOUT_MODEL
        }
        found = [_said(look, cell) for cell in by_generator.values()]
        yield from (each for each in found if each is not None)
        if look.deep and by_generator and not any(found):
            yield Finding(
                self.name,
                "note",
                "how many questions are answered without retrieval is not known",
                "`run --oracle` measures it",
            )


_WITHOUT_MODEL = frozenset({"none", "extractive"})
"""Generators that say nothing which is not in their context."""


def _said(look: Look, cell: Cell) -> Finding | None:
    settings = look.prepared.config.settings
    asked = {(each.text, "", 0): each for each in look.prepared.testset.questions}
    known = look.stages.answers(cell).get(list(asked))
    look.cache.count("answers", reused=-len(known))  # they are looked at, and used for nothing
    verdicts = {
        asked[key].id: settings.answer_test.passed(Case(asked[key], answer=each.answer))
        for key, each in known.items()
        if asked[key].answerable
    }
    judged = {id_: right for id_, right in verdicts.items() if right is not None}
    right = [id_ for id_, passed in judged.items() if passed]
    if not judged:
        return None
    share = len(right) / len(judged)
    return Finding(
        "memory",
        "warning" if share > _MANY else "note",
        f"{len(right):,} of {numbers.count(len(judged), 'question')} ({100 * share:.1f} %) "
        f"{are(len(right))} answered right without any context by {cell.labels()['generator']}",
        "they measure what the model remembers, not what is retrieved" if right else "",
        tuple(right)[:EXAMPLES],
    )
