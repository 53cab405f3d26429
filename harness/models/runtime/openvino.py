"""Models of OpenVINO: converted once, compiled for the processor, and run without torch."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from harness.cache.folders import Cache
from harness.errors import HarnessError, MissingExtra, ModelError
from harness.files.batches import batched
from harness.fingerprint import versions
from harness.models.model_files import locate, silence_warnings, weights_id
from harness.models.runtime import processor, sentence_models
from harness.models.runtime.processor import Precision
from harness.protocols import TextKind, Vectors

if TYPE_CHECKING:
    from torch.nn import Module

Arrays = tuple[NDArray[Any], ...]
Runtime = Literal["openvino", "torch"]

_cache_root: list[Path] = []
_HINTS = {"float32": "f32", "bfloat16": "bf16"}
_MODEL, _TOKENIZER, _READING = "model.xml", "tokenizer.json", "reading.json"
_LAYOUT = 3
_MIN_COSINE = 0.999999
_MAX_BATCH_TOKENS, _MAX_BATCH_TEXTS = 1024, 32
_MAX_TOKEN_LIMIT = 1_000_000
_PROBES = (
    "Is the cat insured?",
    "ÉTÉ: Größe 12,5 % – 保険 🙂",
    "A claim is paid within thirty days of the day on which all documents are there. " * 60,
)
_PROBE_KINDS: tuple[tuple[TextKind, str], ...] = (("document", ""), ("query", "query: "))


def default_runtime() -> Runtime:
    """Return `openvino` where that package is installed (the extra `[fast]`), else `torch`."""
    return "openvino" if importlib.util.find_spec("openvino") is not None else "torch"


def require() -> None:
    """Make sure that the library is there.

    Raises:
        MissingExtra: it is not installed.
    """
    if default_runtime() == "torch":
        raise MissingExtra("runtime 'openvino'", "openvino", "fast")


def _openvino() -> Any:
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
        compiled = _openvino().Core().compile_model(model, "CPU", settings)
        self._requests = [compiled.create_infer_request() for _ in range(self.streams)]

    def run_batches(self, batches: Iterable[Arrays]) -> Iterator[NDArray[np.float32]]:
        """Yield each batch's first output, in order, some ahead of their use."""
        free = deque(self._requests)
        started: deque[Any] = deque()

        def take() -> NDArray[np.float32]:
            request = started.popleft()
            request.wait()
            free.append(request)
            # The request writes its next output to the same place.
            output: NDArray[np.float32] = request.get_output_tensor(0).data.copy()
            return output

        try:
            for arrays in batches:
                if not free:
                    yield take()
                request = free.popleft()
                request.start_async([np.ascontiguousarray(array) for array in arrays])
                started.append(request)
            while started:
                yield take()
        finally:
            for request in started:
                request.wait()


class OpenVinoEncoder:
    """An encoder and its pooling, run by OpenVINO; read from where it is kept, if it is.

    Texts of one number of tokens share a batch, and nothing is padded: that would change the last
    digits of a vector.
    """

    def __init__(self, name: str, precision: Precision) -> None:
        from tokenizers import Tokenizer

        about = {"model": weights_id(name), "layout": _LAYOUT, "libraries": versions("openvino")}
        try:
            with open_folder(about, partial(_convert, name)) as folder:
                self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
                limit = json.loads((folder / _READING).read_text(encoding="utf-8"))["limit"]
                model = _openvino().Core().read_model(folder / _MODEL)
        except OSError as error:
            raise _refusal(name, f"its converted form cannot be written: {error}") from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        if limit is not None:
            self._tokenizer.enable_truncation(limit)
        self._compiled = Compiled(model, precision)

    def vectors(self, texts: Sequence[str], kind: TextKind, prompt: str = "") -> Vectors:
        """Return a row a text; `prompt` is put before each."""
        ids = [encoding.ids for encoding in self._encode(texts, prompt)]
        batches = [
            part
            for length, numbers in sentence_models.by_length(map(len, ids)).items()
            for part in batched(
                numbers, max(1, min(_MAX_BATCH_TEXTS, _MAX_BATCH_TOKENS // max(1, length)))
            )
        ]
        rows = self._compiled.run_batches(_arrays([ids[number] for number in b]) for b in batches)
        return sentence_models.in_order(zip(batches, rows, strict=True), len(texts))

    def truncated(self, texts: Sequence[str], prompt: str = "") -> list[bool]:
        """Return of each text whether it has more tokens than the model reads."""
        return [bool(encoding.overflowing) for encoding in self._encode(texts, prompt)]

    def _encode(self, texts: Sequence[str], prompt: str) -> list[Any]:
        encodings: list[Any] = self._tokenizer.encode_batch_fast([prompt + text for text in texts])
        return encodings


def _arrays(ids: Sequence[Sequence[int]]) -> Arrays:
    """Return ids and mask of texts of one length; an empty one is a token that is masked."""
    mask = np.ones((len(ids), max(1, len(ids[0]))), dtype=np.int64)
    return (np.array(ids), mask) if ids[0] else (np.zeros_like(mask), np.zeros_like(mask))


def _convert(name: str, folder: Path) -> None:
    """Convert the model.

    It is read from files afterwards: written and read, a model adds up in another order.
    """
    model = sentence_models.load(name)
    tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
    if tokenizer is None or not sentence_models.looks_usual(locate(name)):
        raise _refusal(name, "it is not an encoder and its pooling alone, read in the usual way")

    def vectors(input_ids: Any, attention_mask: Any) -> Any:
        features = {"input_ids": input_ids, "attention_mask": attention_mask}
        return model(features)["sentence_embedding"]

    try:
        converted = _trace(model, vectors)
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise _refusal(name, str(error).strip().split("\n")[0]) from None
    try:
        _openvino().save_model(converted, folder / _MODEL, compress_to_fp16=False)
    except RuntimeError as error:
        raise OSError(f"{folder}: {error}") from None
    limit = model.max_seq_length
    limit = None if limit is None or limit > _MAX_TOKEN_LIMIT else int(limit)
    (folder / _TOKENIZER).write_text(tokenizer.to_str(), encoding="utf-8")
    (folder / _READING).write_text(json.dumps({"limit": limit}), encoding="utf-8")
    exact = Compiled(_openvino().Core().read_model(folder / _MODEL), "float32")
    for kind, prompt in _PROBE_KINDS:
        # With a prompt too, as a model may leave its tokens out of the pooling.
        for probe in _PROBES:
            tokenizer.no_padding()
            tokenizer.enable_truncation(limit) if limit else tokenizer.no_truncation()
            ids = tokenizer.encode(prompt + probe).ids
            # Twice, as a text could come out otherwise beside another.
            (rows,) = exact.run_batches([_arrays([ids, ids])])
            expected = sentence_models.encode_texts(model, [probe], kind, prompt)
            if not (sentence_models.cosines(rows[:1], expected) > _MIN_COSINE).all():
                raise _refusal(name, "its vectors come out other than those of torch")


def _trace(model: Module, vectors: Callable[[Any, Any], Any]) -> Any:
    """Return what `vectors` makes of (input_ids, attention_mask) with `model`, for OpenVINO."""
    import torch

    class Traced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return vectors(input_ids, attention_mask)

    example = torch.ones((2, 8), dtype=torch.long)
    inputs = {"input_ids": example, "attention_mask": example}
    with silence_warnings():
        return _openvino().convert_model(Traced().eval(), example_input=inputs)


def _refusal(name: str, why: str) -> ModelError:
    return ModelError(
        f"model {name!r} cannot be run by OpenVINO: {why}\n  set runtime: torch in its embedder"
    )


def faster_encoder(model: Module) -> Module:
    """Return a module that gives what `model(ids, attention_mask=...)[0]` gives, only faster.

    `model` is an encoder of the transformers library, in float32 on the processor. Without
    OpenVINO it is returned as it is.
    """
    if default_runtime() == "torch":
        return model
    import torch

    class Fast(torch.nn.Module):
        """Has a parameter, as callers ask a module's parameters for its device."""

        def __init__(self) -> None:
            super().__init__()
            self.place = torch.nn.Parameter(torch.empty(0), requires_grad=False)
            traced = _trace(model, lambda ids, mask: model(ids, attention_mask=mask)[0])
            self.run = Compiled(traced, "float32")

        def forward(self, input_ids: Any, attention_mask: Any, **_: Any) -> tuple[Any]:
            ids, mask = input_ids.numpy(), attention_mask.to(torch.long).numpy()
            parts = min(self.run.streams, len(ids))
            shares = [np.array_split(array, parts) for array in (ids, mask)]
            outputs = list(self.run.run_batches(zip(*shares, strict=True)))
            return (torch.from_numpy(np.concatenate(outputs)),)

    return Fast()


def keep_in(root: Path | None) -> None:
    """Keep converted models in the cache at `root`; None keeps nothing."""
    _cache_root[:] = [] if root is None else [root]


@contextmanager
def open_folder(about: Mapping[str, Any], make: Callable[[Path], None]) -> Iterator[Path]:
    """Give the folder that `make` fills, now or earlier; a passing one where nothing can be kept.

    Raises:
        OSError: not even that can be written; and whatever `make` raises.
    """
    with ExitStack() as stack:
        cache, folder = None, None
        # Read-only, full or damaged: what is kept only saves making it again.
        with suppress(HarnessError):
            cache = stack.enter_context(Cache(_cache_root[0])) if _cache_root else None
        with suppress(OSError):
            folder = None if cache is None else cache.folder("models", about, make)
        if folder is None:
            spare = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(spare))
            make(folder)
        yield folder
