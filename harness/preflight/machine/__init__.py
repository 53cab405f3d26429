"""Checks of this machine before a run (`doctor`)."""

from __future__ import annotations

from collections.abc import Iterator

from harness.config.run_config import RunConfig
from harness.preflight.machine import room, services, software
from harness.preflight.machine.machine_facts import Fact

__all__ = ["Fact", "run_checks"]


def run_checks(config: RunConfig | None) -> Iterator[tuple[str, Fact]]:
    """Yield every check's facts, each with the name of its check.

    Without a configuration they are those that hold for any run. Nothing is spent: no model is
    loaded or asked, nothing is fetched, and no file is left behind. Connections are made to the
    servers that the configuration names, and to no others.
    """
    used = services.used_services(config)
    facts_by_check = {
        "versions": software.check_versions(),
        "extras": software.check_extras(),
        "processor": software.check_processor(),
        "models": services.check_models(used),
        "servers": services.check_servers(used, config),
        "cluster": services.check_cluster(config),
        "network": services.check_network(used),
        "room": room.check_room(config, used),
        "folders": room.check_folders(config),
        "clock": software.check_clock(),
    }
    for check, facts in facts_by_check.items():
        for fact in facts:
            yield check, fact
