"""The inputs of a run: a configuration with its data read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from harness.config.grid import RunPlan
from harness.config.run_config import RunConfig
from harness.corpus import Corpus
from harness.stats.clusters import find_clusters
from harness.store.run_file import QuestionSample
from harness.testset import Testset


@dataclass(frozen=True)
class SampledQuestions:
    """Which part of a test set is asked, and all of it."""

    line: QuestionSample
    whole: Testset


@dataclass(frozen=True)
class RunInputs:
    """A configuration with its data read and everything checked: nothing is spent yet.

    `testset` has the questions to be asked, which are a part where there is a `sample`.
    """

    config: RunConfig
    corpus: Corpus
    testset: Testset
    plan: RunPlan
    sample: SampledQuestions | None = None

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
        by_question = find_clusters(self.whole.questions)
        return {question.id: by_question[question.id] for question in self.testset.questions}
