"""One model on one runtime: texts to vectors, and how it is opened."""

from __future__ import annotations

import copy
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.errors import ModelError
from harness.models import locate, quietly, weights_id
from harness.runtime import Runtime, folder, library, processor
from harness.runtime.card import Card
from harness.runtime.folder import Kept
from harness.runtime.packing import filled, pack
from harness.runtime.processor import Device, Precision
from harness.runtime.reader import Kind, Reader, reading_of
from harness.runtime.streamed import Streamed
from harness.runtime.vino import Compiled, openvino

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_MODEL, _TOKENIZER = "model.xml", "tokenizer.json"
_LAYOUT = 2


class Encoder(Protocol):
    """What turns texts into vectors of any length, each the same in any company."""

    def vectors(self, texts: Sequence[str], kind: Kind, prompt: str = "") -> NDArray[np.float32]:
        """Return a row a text; `prompt` is put before each."""
        ...

    def truncated(self, texts: Sequence[str], prompt: str = "") -> list[bool]:
        """Return of each text whether the model, after `prompt`, reads only its start."""
        ...


@lru_cache(maxsize=4)
def open_encoder(name: str, runtime: Runtime, precision: Precision, device: Device) -> Encoder:
    """Return the encoder; it is loaded once a process.

    Raises:
        ModelError: the model cannot be found or loaded, OpenVINO cannot run it, or there is no
            card that it is to run on.
    """
    if device != processor.device() == "cpu":
        raise ModelError(f"model {name!r} is to run on a graphics card, and torch finds none here")
    if runtime == "openvino":
        return Converted(name, precision)
    model = library.load(name)
    usual = library.reading(model)
    if precision == "bfloat16" or device != "cpu":
        import torch

        numbers = torch.bfloat16 if precision == "bfloat16" else torch.float32
        # A copy: the model is shared, and moving it changes it.
        model = copy.deepcopy(model).to(device, numbers)
    if device != "cpu":
        return Streamed(model, None if usual is None else Reader(usual), Card(device))
    return Whole(model) if usual is None else Torch(model, Reader(usual))


class Whole:
    """A model that only its library knows how to run."""

    def __init__(self, model: SentenceTransformer) -> None:
        self._model = model

    def vectors(self, texts: Sequence[str], kind: Kind, prompt: str = "") -> NDArray[np.float32]:
        """Return a row a text, one text at a time."""
        return library.encoded(self._model, texts, kind, prompt)

    def truncated(self, texts: Sequence[str], prompt: str = "") -> list[bool]:
        """Return of each text whether it has more tokens than the model reads."""
        limit = self._model.max_seq_length
        if limit is None:
            return [False] * len(texts)
        whole = [prompt + text for text in texts]
        return [tokens > limit for tokens in library.tokens(self._model, whole)]


class _Packed(ABC):
    """Tokenises each text once, and runs packed batches."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def vectors(self, texts: Sequence[str], kind: Kind, prompt: str = "") -> NDArray[np.float32]:
        """Return a row a text."""
        ids = self._reader.ids([prompt + text for text in texts])
        batches = pack([len(each) for each in ids])
        found: NDArray[np.float32] | None = None
        for number, rows in self._run(filled(batches, ids, self._reader.reading.pad)):
            if found is None:
                found = np.empty((len(texts), rows.shape[1]), dtype=np.float32)
            at = list(batches[number].texts)
            found[at] = rows[: len(at)]
        assert found is not None, "there is a text"
        return found

    def truncated(self, texts: Sequence[str], prompt: str = "") -> list[bool]:
        """Return of each text whether it has more tokens than the model reads."""
        return self._reader.truncated([prompt + text for text in texts])

    @abstractmethod
    def _run(self, batches: Any) -> Any:
        """Yield the number and the vectors of each batch."""


class Torch(_Packed):
    """A model of the usual kind, run by torch."""

    def __init__(self, model: SentenceTransformer, reader: Reader) -> None:
        super().__init__(reader)
        self._model = model

    def _run(self, batches: Any) -> Any:
        for number, (ids, mask) in enumerate(batches):
            yield number, library.forward(self._model, ids, mask)


class Converted(_Packed):
    """A model of the usual kind, run by OpenVINO; read from where it is kept, if it is."""

    def __init__(self, name: str, precision: Precision) -> None:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as spare:
            kept = folder.find(kept_name(name)) or _convert(name, Path(spare))
            tokenizer = (kept.path / _TOKENIZER).read_text(encoding="utf-8")
            super().__init__(Reader(reading_of(tokenizer, kept.facts["reading"])))
            model = openvino().Core().read_model(kept.path / _MODEL)
            self._compiled = Compiled(model, precision)

    def _run(self, batches: Any) -> Any:
        return self._compiled.each(batches)


def kept_name(name: str) -> str:
    """Return the name under which the converted form of model `name` is kept."""
    from importlib.metadata import version

    return f"{weights_id(name)}-openvino-{version('openvino')}-{_LAYOUT}"


def _convert(name: str, spare: Path) -> Kept:
    """Convert the model, and keep it, or leave it in the folder `spare`.

    Either way it is read from files afterwards: written and read, a model adds up in another order.
    """
    import torch

    model = library.load(name)
    usual = library.supposed(model) if library.looks_usual(locate(name)) else None
    if usual is None:
        raise _unusable(name, "it is not an encoder and its pooling alone, read in the usual way")

    class Traced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            features = {"input_ids": input_ids, "attention_mask": attention_mask}
            return self.model(features)["sentence_embedding"]

    example = torch.ones((2, 8), dtype=torch.long)
    given = {"input_ids": example, "attention_mask": example}
    try:
        with quietly():
            converted = openvino().convert_model(Traced().eval(), example_input=given)
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise _unusable(name, str(error).strip().split("\n")[0]) from None

    def write(path: Path) -> None:
        try:
            openvino().save_model(converted, path / _MODEL, compress_to_fp16=False)
        except RuntimeError as error:
            raise OSError(f"{path}: {error}") from None
        (path / _TOKENIZER).write_text(usual.tokenizer, encoding="utf-8")
        exact = Compiled(openvino().Core().read_model(path / _MODEL), "float32")
        if not library.alike(model, usual, lambda *arrays: next(exact.each([arrays]))[1]):
            raise _unusable(name, "its vectors come out other than those of torch")

    facts = {"model": weights_id(name), "reading": usual.settings()}
    kept = folder.keep(kept_name(name), facts, write)
    if kept is None:
        try:
            write(spare)
        except OSError as error:
            raise _unusable(name, f"its converted form cannot be written: {error}") from None
        kept = Kept(spare, facts)
    return kept


def _unusable(name: str, why: str) -> ModelError:
    return ModelError(
        f"model {name!r} cannot be run by OpenVINO: {why}\n  set runtime: torch, or leave it out"
    )
