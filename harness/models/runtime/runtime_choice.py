"""Chooses the fastest runtime and precision for embedding on this machine, by measurement."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from harness.errors import ModelError
from harness.fingerprint import fingerprint, versions
from harness.models.model_files import locate, weights_id
from harness.models.runtime import Runtime, default_runtime, model_cache, processor, sentence_models
from harness.models.runtime.encoders import open_encoder
from harness.models.runtime.openvino_models import require
from harness.models.runtime.processor import Device, Precision

AnyRuntime = Literal["auto", "torch", "openvino"]
AnyPrecision = Literal["auto", "float32", "bfloat16"]

_MIN_SPEEDUP = 1.1
_MEASURE_SECONDS = 0.3
_LIBRARIES = ("openvino", "torch", "transformers", "sentence-transformers")
_SENTENCE = (
    "The policy covers damage by storm, hail and frost to the building and what is fixed to it; "
    "a claim must reach the insurer within thirty days, with photographs and an estimate of cost. "
)


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
    request = (model, runtime, precision)
    adopted = _adopted.get(request)
    _used[request] = _choose(*request, model_cache.current_folder()) if adopted is None else adopted
    return _used[request]


ChoiceRequest = tuple[str, AnyRuntime, AnyPrecision]
"""A model, and the runtime and the numbers that are asked for."""
_adopted: dict[ChoiceRequest, Choice] = {}
_used: dict[ChoiceRequest, Choice] = {}


def used_choices() -> dict[ChoiceRequest, Choice]:
    """Return what `choose` has returned in this process."""
    return dict(_used)


def adopt(chosen: Mapping[ChoiceRequest, Choice]) -> None:
    """Let `choose` return what another machine chose: all machines of a run embed alike."""
    _adopted.update(chosen)


@lru_cache
def _choose(model: str, runtime: AnyRuntime, precision: AnyPrecision, place: Path | None) -> Choice:
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
        "candidates": [_label(candidate) for candidate in candidates],
    }
    if any(candidate.device == "cuda" for candidate in candidates):
        about["card"] = processor.card_name()
    with model_cache.open_cache() as cache:
        if cache is None:
            return candidates[0]
        table = cache.table("choices", Choice, {"of": "the fastest runtime"})
        key = fingerprint(about)
        if not table.get([key]):
            speeds = _measure_speeds(model, candidates)
            best = _fastest(candidates, speeds)
            if not table.get([key]):  # else another process was first
                table.put({key: replace(best, texts_per_second=speeds)})
        return table.get([key]).get(key, candidates[0])


def _candidates(model: str, runtime: AnyRuntime, precision: AnyPrecision) -> list[Choice]:
    """Return what may be chosen, the one that needs no measurement first."""
    usual = sentence_models.looks_usual(locate(model))
    runtimes: list[Runtime] = ["torch"] if runtime == "torch" else ["openvino"]
    if runtime == "auto":
        runtimes = ["openvino", "torch"] if usual and default_runtime() == "openvino" else ["torch"]
    precisions: list[Precision] = ["float32", "bfloat16"] if precision == "auto" else [precision]
    if "torch" in runtimes and processor.device() == "cuda":
        runtimes.sort(key=lambda runtime: runtime != "torch")
        precisions.sort(key=lambda numbers: numbers != processor.default_precision())
    choices: list[Choice] = []
    for numbers, runs in itertools.product(precisions, runtimes):
        device = processor.device() if runs == "torch" else "cpu"
        rough = (
            processor.default_precision() == numbers
            if device == "cuda"
            else processor.has_bfloat16()
        )
        if numbers == "float32" or rough or precision == "bfloat16":
            choices.append(Choice(runs, numbers, device))
    return choices


def _measure_speeds(model: str, candidates: list[Choice]) -> dict[str, float]:
    """Return the speed of each runtime, and of the fastest one with its other numbers."""
    speeds: dict[str, float] = {}
    refused: list[ModelError] = []
    for candidate in candidates:
        done = [other for other in candidates if _label(other) in speeds]
        plain = [other for other in done if other.precision != candidate.precision]
        if plain and candidate.runtime != _fastest(plain, speeds).runtime:
            continue
        try:
            speeds[_label(candidate)] = _measure_speed(model, candidate)
        except ModelError as error:
            refused.append(error)
    open_encoder.cache_clear()
    sentence_models.load.cache_clear()
    if not speeds:
        raise refused[0]
    return speeds


def _measure_speed(model: str, choice: Choice) -> float:
    encoder = open_encoder(model, choice.runtime, choice.precision, choice.device)
    # One text first: what is made for a shape is made once.
    sample = sample_texts()
    encoder.vectors(sample[:1], "document")
    best, spent = float("inf"), 0.0
    while spent <= _MEASURE_SECONDS:
        start = time.perf_counter()
        encoder.vectors(sample, "document")
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
    return round(len(sample) / best, 1)


def sample_texts() -> list[str]:
    """Return what is embedded to measure: passages of some 120 tokens, a batch for each core."""
    return [f"Section {n}. " + _SENTENCE * 3 for n in range(8 * max(2, processor.cores()))]


def _fastest(candidates: list[Choice], speeds: Mapping[str, float]) -> Choice:
    measured = [candidate for candidate in candidates if _label(candidate) in speeds]
    best = measured[0]
    for candidate in measured[1:]:
        # Two of about one speed would change places from machine to machine, and the last digits.
        if speeds[_label(candidate)] > _MIN_SPEEDUP * speeds[_label(best)]:
            best = candidate
    return best


def _label(choice: Choice) -> str:
    return f"{choice.runtime} {choice.precision} {choice.device}"
