"""A machine that lacks something: room on the disk, file handles, or a clock that goes forward."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.support import short_machines
from torture.ordeal import Ordeal, sized

_SIZES = tuple(range(100, 4_001, 3_900 // sized(39)))
_HANDLES = (24, 32, 40, 48, 64, 96, 128, 256, 300, 512)


def disk() -> Ordeal:
    """Run on disks of many sizes, each full at another stage, and again once there is room."""
    with tempfile.TemporaryDirectory() as folder:
        broken = short_machines.full_disks(Path(folder), _SIZES)
    return Ordeal("a disk that is full at some stage, and room again", len(_SIZES), broken)


def handles() -> Ordeal:
    """Run and read with few file handles."""
    with tempfile.TemporaryDirectory() as folder:
        cases, broken = short_machines.few_handles(Path(folder), _HANDLES)
    return Ordeal("a limit of 24 to 512 open files", cases, broken)


def clock() -> Ordeal:
    """Set the clock back and forth between runs and in the midst of them."""
    with tempfile.TemporaryDirectory() as folder:
        cases, broken = short_machines.strange_clocks(Path(folder))
    return Ordeal("the clock set back or forth, between runs and within", cases, broken)
