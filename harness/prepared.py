"""A configuration with its data read and checked: what a run is begun with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from harness.clusters import clusters
from harness.config import RunConfig
from harness.corpus import Corpus
from harness.plan import Plan
from harness.stored import SampledLine
from harness.testset import Testset


@dataclass(frozen=True)
class Sampled:
    """Which part of a test set is asked, and all of it."""

    line: SampledLine
    whole: Testset


@dataclass(frozen=True)
class Prepared:
    """A configuration with its data read and everything checked: nothing is spent yet.

    `testset` has the questions to be asked, which are a part where there is a `sample`.
    """

    config: RunConfig
    corpus: Corpus
    testset: Testset
    plan: Plan
    sample: Sampled | None = None

    @property
    def whole(self) -> Testset:
        """The whole test set."""
        return self.testset if self.sample is None else self.sample.whole

    @cached_property
    def clusters(self) -> Mapping[str, str] | None:
        """The cluster of each question to be asked, where the configuration asks for them.

        Questions hang together through others of the test set, be those asked or not.
        """
        if not self.config.settings.clusters:
            return None
        found = clusters(self.whole.questions)
        return {each.id: found[each.id] for each in self.testset.questions}
