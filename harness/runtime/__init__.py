"""The fastest way this machine has to run a transformer encoder, with the same numbers."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any, Literal

from harness.models import quietly
from harness.runtime.folder import keep_in

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["Runtime", "available", "encoder", "keep_in"]

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
    import numpy as np
    import torch

    from harness.runtime.vino import Compiled, openvino

    class Traced(torch.nn.Module):
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
            given = {"input_ids": example, "attention_mask": example}
            with quietly():
                converted = openvino().convert_model(Traced().eval(), example_input=given)
            self.run = Compiled(converted, "float32")

        def forward(self, input_ids: Any, attention_mask: Any, **_: Any) -> tuple[Any]:
            ids, mask = input_ids.numpy(), attention_mask.to(torch.long).numpy()
            parts = min(self.run.streams, len(ids))
            shares = [np.array_split(each, parts) for each in (ids, mask)]
            made = [found for _, found in self.run.each(zip(*shares, strict=True))]
            return (torch.from_numpy(np.concatenate(made)),)

    return Fast()
