"""Runs a transformer encoder by OpenVINO where it is installed, else by torch."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any, Literal

from harness.models.model_files import silence_warnings
from harness.models.runtime.model_cache import keep_in

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["Runtime", "default_runtime", "faster_encoder", "keep_in"]

Runtime = Literal["openvino", "torch"]


def default_runtime() -> Runtime:
    """Return `openvino` where that package is installed (the extra `[fast]`), else `torch`."""
    return "openvino" if importlib.util.find_spec("openvino") is not None else "torch"


def faster_encoder(model: Module) -> Module:
    """Return a module that gives what `model(ids, attention_mask=...)[0]` gives, only faster.

    `model` is an encoder of the transformers library, in float32 on the processor. Without
    OpenVINO it is returned as it is.
    """
    return model if default_runtime() == "torch" else _convert_to_openvino(model)


def _convert_to_openvino(model: Module) -> Module:
    import numpy as np
    import torch

    from harness.models.runtime.openvino_models import Compiled, openvino

    class TracedModule(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.model(input_ids, attention_mask=attention_mask)[0]

    class Fast(torch.nn.Module):
        """Has a parameter, as callers ask a module's parameters for its device."""

        def __init__(self) -> None:
            super().__init__()
            self.place = torch.nn.Parameter(torch.empty(0), requires_grad=False)
            example = torch.ones((2, 8), dtype=torch.long)
            example_inputs = {"input_ids": example, "attention_mask": example}
            with silence_warnings():
                converted = openvino().convert_model(
                    TracedModule().eval(), example_input=example_inputs
                )
            self.run = Compiled(converted, "float32")

        def forward(self, input_ids: Any, attention_mask: Any, **_: Any) -> tuple[Any]:
            ids, mask = input_ids.numpy(), attention_mask.to(torch.long).numpy()
            parts = min(self.run.streams, len(ids))
            shares = [np.array_split(array, parts) for array in (ids, mask)]
            outputs = [output for _, output in self.run.run_batches(zip(*shares, strict=True))]
            return (torch.from_numpy(np.concatenate(outputs)),)

    return Fast()
