"""The fastest way this machine has to run a transformer encoder, with the same numbers."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torch.nn import Module

Runtime = Literal["openvino", "torch"]


def available() -> Runtime:
    """Return `openvino` where that package is installed (the extra `[fast]`), else `torch`."""
    return "openvino" if importlib.util.find_spec("openvino") is not None else "torch"


def encoder(model: Module) -> Module:
    """Return a module that gives what `model(ids, attention_mask=...)[0]` gives, only faster.

    `model` is an encoder of the transformers library, in float32 on the processor. Without
    OpenVINO it is returned as it is.
    """
    return model if available() == "torch" else _converted(model)


def _converted(model: Module) -> Module:
    import torch

    # At import OpenVINO reports that it was imported, unless its messenger cannot be found.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    class Traced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.model(input_ids, attention_mask=attention_mask)[0]

    class Compiled(torch.nn.Module):
        """Has a parameter, as callers ask a module's parameters for its device."""

        def __init__(self) -> None:
            super().__init__()
            self.place = torch.nn.Parameter(torch.empty(0), requires_grad=False)
            example = torch.ones((2, 8), dtype=torch.long)
            given = {"input_ids": example, "attention_mask": example}
            with warnings.catch_warnings():
                # Tracing warns of branches that depend on shapes; the tests compare the values.
                warnings.simplefilter("ignore")
                converted = openvino.convert_model(Traced().eval(), example_input=given)
            exact = {"INFERENCE_PRECISION_HINT": "f32"}
            self.run = openvino.Core().compile_model(converted, "CPU", exact)

        def forward(self, input_ids: Any, attention_mask: Any, **_: Any) -> tuple[Any]:
            given = [input_ids.numpy(), attention_mask.to(torch.long).numpy()]
            return (torch.from_numpy(self.run(given)[0].copy()),)

    return Compiled()
