"""Models of OpenVINO: converted, compiled and run."""

from __future__ import annotations

import importlib.util
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import MissingExtra
from harness.models.runtime import processor
from harness.models.runtime.processor import Precision

Arrays = tuple[NDArray[Any], ...]

_HINTS = {"float32": "f32", "bfloat16": "bf16"}


def require() -> None:
    """Make sure that the library is there.

    Raises:
        MissingExtra: it is not installed.
    """
    if importlib.util.find_spec("openvino") is None:
        raise MissingExtra("runtime 'openvino'", "openvino", "fast")


def openvino() -> Any:
    """Return the library, imported without its messenger.

    Raises:
        MissingExtra: it is not installed.
    """
    # At import OpenVINO reports that it was imported, unless its messenger cannot be found.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    require()
    import openvino as library

    return library


class Compiled:
    """A model compiled for the processor: one thread a stream, a stream a core.

    One thread adds up in one order, however many cores there are. And one thread of Python starts
    requests and waits for them in turn, as calls from several were seen never to return.
    """

    def __init__(self, model: Any, precision: Precision) -> None:
        self.streams = processor.cores()
        settings = {
            "INFERENCE_PRECISION_HINT": _HINTS[precision],
            "NUM_STREAMS": self.streams,
            "INFERENCE_NUM_THREADS": self.streams,
        }
        compiled = openvino().Core().compile_model(model, "CPU", settings)
        self._requests = [compiled.create_infer_request() for _ in range(self.streams)]

    def run_batches(self, batches: Iterable[Arrays]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield each batch's number and first output, in order, some ahead of their use."""
        free = deque(self._requests)
        started: deque[tuple[int, Any]] = deque()
        try:
            for number, arrays in enumerate(batches):
                if not free:
                    yield self._next(started, free)
                request = free.popleft()
                request.start_async([np.ascontiguousarray(array) for array in arrays])
                started.append((number, request))
            while started:
                yield self._next(started, free)
        finally:
            for _, request in started:
                request.wait()

    def _next(
        self, started: deque[tuple[int, Any]], free: deque[Any]
    ) -> tuple[int, NDArray[np.float32]]:
        number, request = started.popleft()
        request.wait()
        free.append(request)
        # The request writes its next output to the same place.
        return number, request.get_output_tensor(0).data.copy()
