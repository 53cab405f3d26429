"""The cluster that a configuration names: Ray is there, and its address answers."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.config import RunConfig
from harness.doctor import Fact, checks
from harness.errors import RunError


@checks.register
@dataclass(frozen=True)
class Cluster:
    """Looks whether Ray is installed, and connects to the cluster's address, where one is named."""

    name: ClassVar[str] = "cluster"
    order: ClassVar[int] = 55

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield a fact where the work is done on a cluster."""
        execution = None if config is None else config.settings.execution
        if execution is None:
            return
        if importlib.util.find_spec("ray") is None:
            yield Fact("problem", "Ray is not installed", "pip install 'rag-eval-harness[ray]'")
            return
        from harness.cluster.connecting import answering

        try:
            address = answering(execution.ray)
        except RunError as error:
            text, _, remedy = str(error).partition("\n  ")
            yield Fact("problem", text, remedy)
            return
        own = address == "local"
        on = "a Ray that the run starts itself" if own else f"a Ray cluster: {address}"
        yield Fact("ok", f"work is done on {on}")
