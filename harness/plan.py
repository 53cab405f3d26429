"""What all cells of a run have in common: settings, metrics, and the labels they judge by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from harness import scoring
from harness.metrics import Asking
from harness.records import Label, Question
from harness.scoring import Named
from harness.settings import Settings


@dataclass(frozen=True)
class Plan:
    """What every cell of a run has in common."""

    settings: Settings
    metrics: Sequence[Named]
    labels: Label

    def fitted(self, questions: Sequence[Question]) -> Plan:
        """Return the plan with its metrics fitted to the test set, where they need that."""
        return replace(self, metrics=scoring.fitted(self.metrics, questions, self.settings.seed))

    @cached_property
    def kinds(self) -> tuple[Label, ...]:
        """The kinds of label that rankings are judged by, the run's own first."""
        level = self.settings.relevance_level
        used = [
            scoring.label_of(leaf)
            for named in self.metrics
            for leaf in scoring.leaves(named.metric, self.labels, level)
        ]
        return tuple(dict.fromkeys([self.labels, *(kind for kind in used if kind)]))

    @cached_property
    def asks(self) -> bool:
        """Whether a metric asks a judge."""
        level = self.settings.relevance_level
        return any(
            isinstance(leaf, Asking)
            for named in self.metrics
            for leaf in scoring.leaves(named.metric, self.labels, level)
        )
