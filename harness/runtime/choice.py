"""Which runtime and which numbers embed fastest on this machine: measured once, and kept."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from harness.errors import ModelError
from harness.fingerprint import fingerprint, versions
from harness.models import locate, weights_id
from harness.runtime import Runtime, available, folder, library, processor
from harness.runtime.encoders import open_encoder
from harness.runtime.processor import Device, Precision
from harness.runtime.vino import require

AnyRuntime = Literal["auto", "torch", "openvino"]
AnyPrecision = Literal["auto", "float32", "bfloat16"]

_MARGIN = 1.1
_SECONDS = 0.3
_LIBRARIES = ("openvino", "torch", "transformers", "sentence-transformers")
_SENTENCE = (
    "The policy covers damage by storm, hail and frost to the building and what is fixed to it; "
    "a claim must reach the insurer within thirty days, with photographs and an estimate of cost. "
)
SAMPLE = tuple(f"Section {n}. " + _SENTENCE * 3 for n in range(8 * max(2, processor.cores())))
"""What is embedded to measure: passages of some 120 tokens, a full batch or more for each core."""


@dataclass(frozen=True)
class Choice:
    """What embeds; `texts_per_second` is empty where there was nothing to choose from."""

    runtime: Runtime
    precision: Precision
    device: Device
    texts_per_second: Mapping[str, float] = field(default_factory=dict)


def choose(model: str, runtime: AnyRuntime, precision: AnyPrecision) -> Choice:
    """Return what embeds with `model` where `runtime` and `precision` are asked for.

    A graphics card that torch can use comes first, in bfloat16 where it has it, and anything else
    must be faster by a tenth. Without one, and with a folder to keep the choice in, the fastest is
    measured once: first of the runtimes, and then of the numbers on that one. torch must be faster
    than OpenVINO by a tenth, and bfloat16, only looked at where the processor has it, than float32.
    Without a folder that can be written nothing measured counts, as the next process might choose
    otherwise: OpenVINO where it is installed and the model is of the usual kind, in float32, and
    on a card torch.

    Raises:
        ModelError: the model cannot be found, or where it must be loaded, cannot be.
        MissingExtra: OpenVINO is asked for and not installed.
    """
    asked = (model, runtime, precision)
    own = _adopted.get(asked)
    _used[asked] = _chosen(*asked, folder.place()) if own is None else own
    return _used[asked]


Asked = tuple[str, AnyRuntime, AnyPrecision]
"""A model, and the runtime and the numbers that are asked for."""
_adopted: dict[Asked, Choice] = {}
_used: dict[Asked, Choice] = {}


def used() -> dict[Asked, Choice]:
    """Return what `choose` has returned in this process."""
    return dict(_used)


def adopt(chosen: Mapping[Asked, Choice]) -> None:
    """Let `choose` return what another machine chose: all machines of a run embed alike."""
    _adopted.update(chosen)


@lru_cache
def _chosen(model: str, runtime: AnyRuntime, precision: AnyPrecision, place: Path | None) -> Choice:
    if runtime == "openvino":
        require()
    candidates = _candidates(model, runtime, precision)
    if len(candidates) == 1 or place is None:
        return candidates[0]
    about: dict[str, Any] = {
        "model": weights_id(model),
        "processor": processor.name(),
        "cores": processor.cores(),
        "versions": versions(*_LIBRARIES),
        "candidates": [_label(each) for each in candidates],
    }
    if any(each.device == "cuda" for each in candidates):
        about["card"] = processor.card()
    name = f"{weights_id(model)}-choice-{fingerprint(about)}"
    kept = folder.find(name)
    if kept is None:
        speeds = _measured(model, candidates)
        best = _best(candidates, speeds)
        facts = {**about, "choice": asdict(Choice(**{**asdict(best), "texts_per_second": speeds}))}
        kept = folder.keep(name, facts, lambda path: None)
    if kept is None:
        return next(each for each in candidates if _label(each) in speeds)
    return Choice(**kept.facts["choice"])


def _candidates(model: str, runtime: AnyRuntime, precision: AnyPrecision) -> list[Choice]:
    """Return what may be chosen, the one that needs no measurement first."""
    usual = library.looks_usual(locate(model))
    runtimes: list[Runtime] = ["torch"] if runtime == "torch" else ["openvino"]
    if runtime == "auto":
        runtimes = ["openvino", "torch"] if usual and available() == "openvino" else ["torch"]
    precisions: list[Precision] = ["float32", "bfloat16"] if precision == "auto" else [precision]
    if "torch" in runtimes and processor.device() == "cuda":
        runtimes.sort(key=lambda each: each != "torch")
        precisions.sort(key=lambda each: each != processor.numbers())
    found: list[Choice] = []
    for numbers, runs in itertools.product(precisions, runtimes):
        device = processor.device() if runs == "torch" else "cpu"
        rough = processor.numbers() == numbers if device == "cuda" else processor.has_bfloat16()
        if numbers == "float32" or rough or precision == "bfloat16":
            found.append(Choice(runs, numbers, device))
    return found


def _measured(model: str, candidates: list[Choice]) -> dict[str, float]:
    """Return the speed of each runtime, and of the fastest one with its other numbers."""
    speeds: dict[str, float] = {}
    refused: list[ModelError] = []
    for each in candidates:
        done = [other for other in candidates if _label(other) in speeds]
        plain = [other for other in done if other.precision != each.precision]
        if plain and each.runtime != _best(plain, speeds).runtime:
            continue
        try:
            speeds[_label(each)] = _speed(model, each)
        except ModelError as error:
            refused.append(error)
    open_encoder.cache_clear()
    library.load.cache_clear()
    if not speeds:
        raise refused[0]
    return speeds


def _speed(model: str, each: Choice) -> float:
    encoder = open_encoder(model, each.runtime, each.precision, each.device)
    # One text first: what is made for a shape is made once.
    encoder.vectors(SAMPLE[:1], "document")
    best, spent = float("inf"), 0.0
    while spent <= _SECONDS:
        start = time.perf_counter()
        encoder.vectors(SAMPLE, "document")
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
    return round(len(SAMPLE) / best, 1)


def _best(candidates: list[Choice], speeds: Mapping[str, float]) -> Choice:
    there = [each for each in candidates if _label(each) in speeds]
    best = there[0]
    for each in there[1:]:
        # Two of about one speed would change places from machine to machine, and the last digits.
        if speeds[_label(each)] > _MARGIN * speeds[_label(best)]:
            best = each
    return best


def _label(each: Choice) -> str:
    return f"{each.runtime} {each.precision} {each.device}"
