"""Memory and disk: the estimated need of the planned run against what is free."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.config.run_config import RunConfig
from harness.preflight.machine import Fact, checks
from harness.preflight.machine.planned_size import GIGA, PlannedSize, estimate_size

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")
_UNLIMITED_BYTES = 1 << 60
_WARNING_SHARE = 0.8
_MIN_FREE_BYTES = 1 * GIGA


@checks.register
@dataclass(frozen=True)
class MemoryAndDisk:
    """Estimates a run's memory and disk from its corpus, chunkers and models, in bytes."""

    name: ClassVar[str] = "room"
    order: ClassVar[int] = 70

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield memory and disk: what is free, and against it what the run takes."""
        plan = None
        try:
            plan = None if config is None else estimate_size(config)
        except OSError as error:
            message = f"what is planned cannot be estimated: {error.strerror or error}"
            yield Fact("warning", message, "look at the paths of corpus and test set")
        if plan is not None:
            yield Fact("ok", plan.text)
        yield check_memory(plan, available_memory())
        places = [Path()] if config is None else [config.cache, config.output]
        disks = {
            os.stat(folder := _nearest_existing(place)).st_dev: folder for place in reversed(places)
        }
        for device, folder in disks.items():
            takes = 0
            if plan is not None and config is not None:
                takes += (
                    plan.kept if os.stat(_nearest_existing(config.cache)).st_dev == device else 0
                )
                takes += (
                    plan.stored if os.stat(_nearest_existing(config.output)).st_dev == device else 0
                )
            yield check_disk(
                folder, None if plan is None else takes, shutil.disk_usage(folder).free
            )


def check_memory(plan: PlannedSize | None, free: int | None) -> Fact:
    """Return whether there is memory for what is planned; in bytes."""
    if free is None:
        return Fact("ok", "how much memory is free is not known here")
    text = f"{free / GIGA:.1f} GB of memory are free"
    if plan is None:
        return Fact("ok", text)
    takes = f"the run takes about {plan.memory / GIGA:.1f} GB"
    if plan.memory > free:
        remedy = "use a smaller model, index fewer chunks, or a machine with more memory"
        return Fact("problem", f"{text}, and {takes}", remedy)
    if plan.memory > _WARNING_SHARE * free:
        return Fact("warning", f"{text}, and {takes}", "close what else is running")
    return Fact("ok", f"{text}; {takes}")


def check_disk(folder: Path, takes: int | None, free: int) -> Fact:
    """Return whether a folder's disk has room; in bytes. `takes` None: nothing is planned."""
    text = f"{free / GIGA:.1f} GB of disk are free at {str(folder.absolute())!r}"
    use = "" if takes is None else f"the run takes up to {takes / GIGA:.2f} GB of it"
    remedy = "make room, or name another disk: --set cache=FOLDER"
    if takes is not None and takes > free:
        return Fact("problem", f"{text}, and {use}", remedy)
    if free < _MIN_FREE_BYTES or (takes or 0) > _WARNING_SHARE * free:
        return Fact("warning", f"{text}{', and ' if use else ''}{use}", remedy)
    return Fact("ok", f"{text}{'; ' if use else ''}{use}")


def available_memory() -> int | None:
    """Return the bytes of memory that a new process may take; None where nobody says.

    A container's own bound counts where it is the tighter one.
    """
    bounds = [bound for bound in (_free_memory(), _free_in_container()) if bound is not None]
    return min(bounds) if bounds else None


def _free_memory() -> int | None:
    try:
        for line in _MEMINFO.read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _free_in_container() -> int | None:
    """Return what a container may still take, by either version of Linux's control groups."""
    for bound, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            limit = int((_CGROUP / bound).read_text(encoding="utf-8"))
            if limit < _UNLIMITED_BYTES:
                return max(0, limit - int((_CGROUP / used).read_text(encoding="utf-8")))
        except (OSError, ValueError):  # there is none, or it says `max`
            continue
    return None


def _nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())
