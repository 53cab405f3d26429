"""The cluster that a configuration names: Ray is there, and its address answers."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.config import RunConfig
from harness.doctor import Fact, checks

_PATIENCE = 3.0
"""Seconds that an address is waited for."""


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
        address = execution.ray.address
        if importlib.util.find_spec("ray") is None:
            yield Fact("problem", "Ray is not installed", "pip install 'rag-eval-harness[ray]'")
            return
        host, _, port = address.rpartition(":")
        try:
            if host:
                socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
        except OSError as error:
            why = error.strerror or str(error)
            remedy = "is it the address that `ray start --head` showed?"
            yield Fact("problem", f"no Ray cluster answers at {address}: {why}", remedy)
            return
        yield Fact("ok", f"work is done on a Ray cluster: {address}")
