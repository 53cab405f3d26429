"""Describes this machine's processor and graphics card, and the precision they support."""

from __future__ import annotations

import os
import platform
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Literal

Device = Literal["cpu", "cuda"]
Precision = Literal["float32", "bfloat16"]

_CPUINFO = Path("/proc/cpuinfo")
_BFLOAT16 = frozenset({"avx512_bf16", "amx_bf16"})


def cores() -> int:
    """Return how many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def name() -> str:
    """Return the processor's model name, or its architecture where that is not to be had."""
    return _field("model name") or platform.processor() or platform.machine()


def instructions() -> frozenset[str]:
    """Return the sets of instructions that the processor has, as Linux calls them."""
    return frozenset((_field("flags") or _field("Features")).split())


def has_bfloat16() -> bool:
    """Return whether the processor is known to have instructions for bfloat16."""
    return not _BFLOAT16.isdisjoint(instructions())


@lru_cache
def device() -> Device:
    """Return `cuda` where torch can use such a card, else `cpu`."""
    try:
        # torch takes a second to import, and a build without CUDA says so in its version.
        if metadata.version("torch").endswith("+cpu"):
            return "cpu"
        import torch
    except (metadata.PackageNotFoundError, ImportError):
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


@lru_cache
def card_name() -> str:
    """Return the name and the memory of the card that `device` found; empty where it found none."""
    if device() == "cpu":
        return ""
    import torch

    properties = torch.cuda.get_device_properties(0)
    return f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB"


@lru_cache
def default_precision() -> Precision:
    """Return what models are to calculate with on `device`: bfloat16 on a card that has it."""
    if device() == "cpu":
        return "float32"
    import torch

    # Without instructions of its own a card computes them slower than float32.
    return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"


def device_identity() -> dict[str, str]:
    """Return what an identity says of the card that models run on; nothing without one."""
    return {} if device() == "cpu" else {"device": device(), "precision": default_precision()}


@lru_cache
def _field(field_name: str) -> str:
    try:
        lines = _CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == field_name:
            return value.strip()
    return ""
