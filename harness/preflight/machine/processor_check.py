"""Processor: cores, instructions, and what else there is to calculate with."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import ClassVar

from harness.config.run_config import RunConfig
from harness.models import runtime
from harness.models.runtime import processor
from harness.preflight.machine import Fact, checks
from harness.text.numbers import count

_SETS = {
    "AVX2": ("avx2",),
    "AVX-512": ("avx512f",),
    "VNNI": ("avx512_vnni", "avx_vnni"),
    "bfloat16": ("avx512_bf16", "amx_bf16", "bf16"),
    "AMX": ("amx_tile",),
    "NEON": ("asimd", "neon"),
}
"""Sets of instructions, and what Linux calls them."""
_CARD = Path("/proc/driver/nvidia/version")


@checks.register
@dataclass(frozen=True)
class Processor:
    """Says how fast embedding can be here; only what an encoder needs and lacks is a warning."""

    name: ClassVar[str] = "processor"
    order: ClassVar[int] = 30

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield cores and instructions, then what runs encoders."""
        instructions = processor.instructions()
        sets = [name for name, flags in _SETS.items() if not instructions.isdisjoint(flags)]
        text = f"{count(processor.cores(), 'core')} of {processor.name()}"
        if instructions and platform.machine() in ("x86_64", "AMD64") and "AVX2" not in sets:
            remedy = "embed on another machine: the vectors kept in the cache serve on this one"
            yield Fact(
                "warning", f"{text}, without AVX2: embedding takes many times as long", remedy
            )
        else:
            names = ", ".join(sets) if instructions else "its instructions are not known here"
            yield Fact("ok", f"{text}: {names}")
        yield _check_encoder_runtime()


def _check_encoder_runtime() -> Fact:
    try:
        torch = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return Fact("warning", "torch is not installed: no model can embed", "pip install torch")
    vino = runtime.default_runtime() == "openvino"
    beside = f", OpenVINO {metadata.version('openvino')} beside it" if vino else ""
    # Asking torch takes seconds, and without a driver its answer is known.
    card = _CARD.exists() and processor.device() == "cuda"
    where = (
        f"on {processor.card_name()}, in {processor.default_precision()}"
        if card
        else "on the processor"
    )
    if _CARD.exists() and not card:
        remedy = "install a build of torch with CUDA, where it is to embed"
        return Fact("warning", f"torch {torch} does not use the NVIDIA card{beside}", remedy)
    return Fact("ok", f"torch {torch} {where}{beside}")
