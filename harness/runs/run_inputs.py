"""The inputs of a run: a configuration with its data read and checked, and samples of questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from harness.config.grid import RunPlan
from harness.config.resolved import RunConfig
from harness.corpus import Corpus
from harness.fingerprint import fingerprint
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
    def ids(self) -> list[str]:
        """The ids of the questions to be asked."""
        return [question.id for question in self.testset.questions]

    @cached_property
    def clusters(self) -> Mapping[str, str] | None:
        """The cluster of each question to be asked, where the configuration asks for them.

        Questions hang together through others of the test set, be those asked or not.
        """
        if not self.config.settings.clusters:
            return None
        by_question = find_clusters(self.whole.questions)
        return {question.id: by_question[question.id] for question in self.testset.questions}


def sample_of_day(ids: Sequence[str], size: int, seed: int, day: date) -> tuple[str, ...]:
    """Return the questions of a UTC day, in the order of `ids`; at most `size`, at least one.

    The days walk `size` questions each through a permutation of all, then through another: each
    question is asked once a round of about `len(ids) / size` days. A day on which one round ends
    and the next begins has fewer, where it would ask a question for both.
    """
    start = day.toordinal() * size
    chosen: set[str] = set()
    for round_ in range(start // len(ids), (start + size - 1) // len(ids) + 1):
        begins = round_ * len(ids)
        permuted = _permute(ids, seed, round_)
        chosen.update(permuted[max(0, start - begins) : start + size - begins])
        if len(chosen) == len(ids):
            break
    return _in_order(ids, chosen)


def fixed_sample(ids: Sequence[str], size: int, seed: int) -> tuple[str, ...]:
    """Return `size` questions, the same every day, in the order of `ids`; all if they are fewer."""
    return _in_order(ids, set(_permute(ids, seed, 0)[:size]))


def _permute(ids: Sequence[str], seed: int, round_: int) -> list[str]:
    """Return the questions in an order of chance.

    By a hash of each, not by a generator: a question that is added, or a newer numpy, then leaves
    the order of the others as it is.
    """
    return sorted(ids, key=lambda id_: fingerprint("sample", seed, round_, id_))


def _in_order(ids: Sequence[str], chosen: set[str]) -> tuple[str, ...]:
    return tuple(id_ for id_ in ids if id_ in chosen)
