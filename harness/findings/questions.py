"""Questions asked twice, drafts that nobody has read, and none that has no answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.findings import EXAMPLES, Finding, Look, Part, checks
from harness.relevance import folded


@checks.register
@dataclass(frozen=True)
class Questions:
    """The same question twice, drafts that no person has accepted, and no unanswerable question."""

    name: ClassVar[str] = "questions"
    order: ClassVar[int] = 120
    reads: ClassVar[tuple[Part, ...] | None] = None

    def dear(self, look: Look) -> bool:
        """Return False: only the questions are read."""
        return False

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield what is so of the whole test set, and of drafts what is asked."""
        same: dict[str, list[str]] = {}
        for question in look.questions:
            same.setdefault(folded(question.text), []).append(question.id)
        twice = [ids for ids in same.values() if len(ids) > 1]
        if twice:
            more = sum(map(len, twice)) - len(twice)
            yield Finding(
                self.name,
                "warning",
                f"{more:,} of {numbers.count(len(look.questions), 'question')} "
                f"({100 * more / len(look.questions):.1f} %) "
                f"{'repeats' if more == 1 else 'repeat'} the text of another: "
                "what is asked twice counts twice",
                "take them out, or join their labels",
                tuple(" = ".join(ids[:EXAMPLES]) for ids in twice[:EXAMPLES]),
            )
        asked = look.prepared.testset
        if asked.unaccepted:
            yield Finding(
                self.name,
                "warning",
                f"{asked.unaccepted} of {len(asked.questions)} questions are drafts that no person "
                "has accepted",
                "read them, then `python -m harness draft accept`",
            )
        if all(each.answerable for each in look.questions):
            yield Finding(
                self.name,
                "note",
                "no question is unanswerable: whether the system says so when it does not know is "
                "not measured",
                "add some, with `answerable: false`",
            )
