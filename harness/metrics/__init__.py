"""Metrics: each looks at one case and gives one score. Add one by adding a file here.

A metric has one of three forms. `score(case)` is the usual one. `score_all(cases)` is for those
that are cheaper together (a model's batches). `combine(scores)` is for those made of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

from harness.needs import Kind, Need
from harness.records import Case, Label, Score
from harness.registry import Registry


class Metric(Protocol):
    """What every file in this package provides, beside one of the three forms below."""

    name: ClassVar[str]
    version: ClassVar[int]
    kind: ClassVar[Kind]
    needs: ClassVar[frozenset[Need]]
    perfect: ClassVar[bool]
    """True where a perfect case gives 1."""


@runtime_checkable
class Single(Metric, Protocol):
    """A metric that scores one case by itself."""

    def score(self, case: Case) -> Score:
        """Score one case, or say why the metric does not apply to it."""
        ...


@runtime_checkable
class Batched(Metric, Protocol):
    """A metric that scores many cases at once; each score depends on its own case alone."""

    def score_all(self, cases: Sequence[Case]) -> list[Score]:
        """Score each case, in order."""
        ...


@runtime_checkable
class Combined(Metric, Protocol):
    """A metric made of other metrics' scores on the same case."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the metrics it is made of."""
        ...

    def combine(self, scores: Mapping[str, Score]) -> Score:
        """Return the score that follows from the scores of `parts`."""
        ...


@runtime_checkable
class Labelled(Metric, Protocol):
    """A metric over judged items, whose kind of label and level of relevance the run may set."""

    @property
    def labels(self) -> Label | None:
        """The kind of label that says what is relevant; None takes the run's."""
        ...


metrics: Registry[Metric] = Registry("metric", __name__)
