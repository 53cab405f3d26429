"""A run's work on a Ray cluster: the only home of Ray.

The cluster fills the store that all machines share; then the run goes on as it does on one machine,
and finds everything there. So it has one writer, and one code makes its numbers. What waits on a
server, such as a hosted chat model, stays with the run: pace, budget and failures are counted once.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from harness.cache import Cache
from harness.config import RunConfig
from harness.errors import MissingExtra
from harness.prepared import Prepared
from harness.shared import Shared
from harness.stages import Progress, Stages
from harness.stored import RanLine

__all__ = ["Machines", "check", "machines"]


class Machines(Protocol):
    """What does the work of a run before the run itself goes through it."""

    shared: Shared | None
    """What the machines share; None where there is one alone."""

    def work(
        self, prepared: Prepared, stages: Stages, cache: Cache, progress: Progress
    ) -> list[RanLine]:
        """Do what can be done elsewhere, and return what ran where."""
        ...


class _Here:
    """This machine alone: the run does everything itself."""

    shared: Shared | None = None

    def work(
        self, prepared: Prepared, stages: Stages, cache: Cache, progress: Progress
    ) -> list[RanLine]:
        """Do nothing."""
        return []


def check(config: RunConfig) -> None:
    """Raise `MissingExtra` where a cluster is named and Ray is not installed."""
    if config.settings.execution is not None and importlib.util.find_spec("ray") is None:
        raise MissingExtra("`execution` on a cluster", "ray", "ray")


@contextmanager
def machines(config: RunConfig, fresh: bool) -> Iterator[Machines]:
    """Give what the configuration's `execution` names, and let go of it at the end.

    Raises:
        HarnessError: the cluster or the store cannot be reached.
    """
    execution = config.settings.execution
    if execution is None:
        yield _Here()
        return
    from harness.cluster.opened import opened

    with opened(config, execution.ray, fresh) as found:
        yield found
