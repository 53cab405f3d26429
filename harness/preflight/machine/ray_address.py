"""Cluster: whether Ray is installed, and whether its address answers."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.config.run_config import RunConfig
from harness.errors import RunError
from harness.files.requirements import install_command
from harness.preflight.machine import Fact, checks


@checks.register
@dataclass(frozen=True)
class RayAddress:
    """Looks whether Ray is installed, and connects to the cluster's address, where one is named."""

    name: ClassVar[str] = "cluster"
    order: ClassVar[int] = 55

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield a fact where the work is done on a cluster."""
        execution = None if config is None else config.settings.execution
        if execution is None:
            return
        if importlib.util.find_spec("ray") is None:
            yield Fact("problem", "Ray is not installed", install_command("ray"))
            return
        from harness.runs.cluster.connection import find_address

        try:
            address = find_address(execution.ray)
        except RunError as error:
            text, _, remedy = str(error).partition("\n  ")
            yield Fact("problem", text, remedy)
            return
        is_local = address == "local"
        on = "a Ray that the run starts itself" if is_local else f"a Ray cluster: {address}"
        yield Fact("ok", f"work is done on {on}")
