"""Finds document labels that may cover only what an earlier system retrieved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from harness.preflight.checks import CheckInput, Finding, Part, checks
from harness.text import numbers

_FEW_DOCUMENTS = 10
"""Judged documents that are few, for one question."""


@checks.register
@dataclass(frozen=True)
class LabelPool:
    """Document labels that are few and all positive: what nobody judged counts as irrelevant."""

    name: ClassVar[str] = "pool"
    order: ClassVar[int] = 130
    reads: ClassVar[tuple[Part, ...] | None] = ("documents", "questions", "settings")

    def is_expensive(self, run: CheckInput) -> bool:
        """Return False: only the labels are read."""
        return False

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield a note where no question has a document that was judged irrelevant."""
        prepared = run.prepared
        if "documents" not in prepared.plan.kinds:
            return
        judged = [question.documents for question in run.questions if question.documents]
        # With a judgement for most documents there is little that nobody judged.
        few = min(_FEW_DOCUMENTS, len(prepared.corpus.documents) - 1)
        if not judged or max(map(len, judged)) > few:
            return
        if any(grade <= 0 for grades in judged for grade in grades.values()):
            return
        yield Finding(
            self.name,
            "note",
            f"{fmean(map(len, judged)):.1f} documents are judged per question, of "
            f"{numbers.count(len(prepared.corpus.documents), 'document')}, and none of them "
            "irrelevant: if only what an earlier system retrieved was judged, others look worse "
            "than they are",
            "add the metric judged@10: it shows how much of each ranking was judged",
        )
