"""Memory and disk: what the planned run will take, by estimate, and what there is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.config import RunConfig
from harness.doctor import Fact, checks
from harness.doctor.planned import GIGA, Planned, planned

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60
_TIGHT = 0.8
_LITTLE = 1 * GIGA


@checks.register
@dataclass(frozen=True)
class Room:
    """Estimates a run's memory and disk from its corpus, chunkers and models, in bytes."""

    name: ClassVar[str] = "room"
    order: ClassVar[int] = 70

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield memory and disk: what is free, and against it what the run takes."""
        plan = None
        try:
            plan = None if config is None else planned(config)
        except OSError as error:
            what = f"what is planned cannot be estimated: {error.strerror or error}"
            yield Fact("warning", what, "look at the paths of corpus and test set")
        if plan is not None:
            yield Fact("ok", plan.said)
        yield memory(plan, available())
        places = [Path()] if config is None else [config.cache, config.output]
        disks = {os.stat(there := _existing(place)).st_dev: there for place in reversed(places)}
        for device, there in disks.items():
            takes = 0
            if plan is not None and config is not None:
                takes += plan.kept if os.stat(_existing(config.cache)).st_dev == device else 0
                takes += plan.stored if os.stat(_existing(config.output)).st_dev == device else 0
            yield disk(there, None if plan is None else takes, shutil.disk_usage(there).free)


def memory(plan: Planned | None, free: int | None) -> Fact:
    """Return whether there is memory for what is planned; in bytes."""
    if free is None:
        return Fact("ok", "how much memory is free is not known here")
    shown = f"{free / GIGA:.1f} GB of memory are free"
    if plan is None:
        return Fact("ok", shown)
    takes = f"the run takes about {plan.memory / GIGA:.1f} GB"
    if plan.memory > free:
        remedy = "use a smaller model, index fewer chunks, or a machine with more memory"
        return Fact("problem", f"{shown}, and {takes}", remedy)
    if plan.memory > _TIGHT * free:
        return Fact("warning", f"{shown}, and {takes}", "close what else is running")
    return Fact("ok", f"{shown}; {takes}")


def disk(there: Path, takes: int | None, free: int) -> Fact:
    """Return whether a folder's disk has room; in bytes. `takes` None: nothing is planned."""
    shown = f"{free / GIGA:.1f} GB of disk are free at {str(there.absolute())!r}"
    said = "" if takes is None else f"the run takes up to {takes / GIGA:.2f} GB of it"
    remedy = "make room, or name another disk: --set cache=FOLDER"
    if takes is not None and takes > free:
        return Fact("problem", f"{shown}, and {said}", remedy)
    if free < _LITTLE or (takes or 0) > _TIGHT * free:
        return Fact("warning", f"{shown}{', and ' if said else ''}{said}", remedy)
    return Fact("ok", f"{shown}{'; ' if said else ''}{said}")


def available() -> int | None:
    """Return the bytes of memory that a new process may take; None where nobody says.

    A container's own bound counts where it is the tighter one.
    """
    bounds = [each for each in (_free(), _left()) if each is not None]
    return min(bounds) if bounds else None


def _free() -> int | None:
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


def _left() -> int | None:
    """Return what a container may still take, by either version of Linux's control groups."""
    for bound, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            limit = int((_GROUP / bound).read_text(encoding="utf-8"))
            if limit < _UNLIMITED:
                return max(0, limit - int((_GROUP / used).read_text(encoding="utf-8")))
        except (OSError, ValueError):  # there is none, or it says `max`
            continue
    return None


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())
