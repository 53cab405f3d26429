"""Text encoders: one embedding model on one runtime (torch, OpenVINO, or its own library)."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.errors import ModelError
from harness.fingerprint import versions
from harness.models.model_files import locate, silence_warnings, weights_id
from harness.models.runtime import Runtime, model_cache, processor, sentence_models
from harness.models.runtime.gpu_encoder import DeviceRunner
from harness.models.runtime.openvino_models import Compiled, openvino
from harness.models.runtime.processor import Device, Precision
from harness.models.runtime.token_batches import fill_batches, pack
from harness.models.runtime.tokenizer_reader import BatchTokenizer, Kind, parse_settings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
from harness.models.runtime.gpu_encoder import BatchWork, Features, TokenizedText
from harness.models.runtime.token_batches import pad_right

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

_MODEL, _TOKENIZER, _READING = "model.xml", "tokenizer.json", "reading.json"
_LAYOUT = 2


class TextEncoder(Protocol):
    """What turns texts into vectors of any length, each the same in any company."""

    def vectors(self, texts: Sequence[str], kind: Kind, prompt: str = "") -> NDArray[np.float32]:
        """Return a row a text; `prompt` is put before each."""
        ...

    def truncated(self, texts: Sequence[str], prompt: str = "") -> list[bool]:
        """Return of each text whether the model, after `prompt`, reads only its start."""
        ...


@lru_cache(maxsize=4)
def open_encoder(name: str, runtime: Runtime, precision: Precision, device: Device) -> TextEncoder:
    """Return the encoder; it is loaded once a process.

    Raises:
        ModelError: the model cannot be found or loaded, OpenVINO cannot run it, or there is no
            card that it is to run on.
    """
    if device != processor.device() == "cpu":
        raise ModelError(f"model {name!r} is to run on a graphics card, and torch finds none here")
    if runtime == "openvino":
        return OpenVinoEncoder(name, precision)
    model = sentence_models.load(name)
    usual = sentence_models.read_settings(model)
    if precision == "bfloat16" or device != "cpu":
        import torch

        numbers = torch.bfloat16 if precision == "bfloat16" else torch.float32
        # A copy: the model is shared, and moving it changes it.
        model = copy.deepcopy(model).to(device, numbers)
    if device != "cpu":
        return GpuEmbedder(
            model, None if usual is None else BatchTokenizer(usual), DeviceRunner(device)
        )
    return LibraryEncoder(model) if usual is None else TorchEncoder(model, BatchTokenizer(usual))


class LibraryEncoder:
    """A model that only its library knows how to run."""

    def __init__(self, model: SentenceTransformer) -> None:
        self._model = model

    def vectors(self, texts: Sequence[str], kind: Kind, prompt: str = "") -> NDArray[np.float32]:
        """Return a row a text, one text at a time."""
        return sentence_models.encode_texts(self._model, texts, kind, prompt)

    def truncated(self, texts: Sequence[str], prompt: str = "") -> list[bool]:
        """Return of each text whether it has more tokens than the model reads."""
        limit = self._model.max_seq_length
        if limit is None:
            return [False] * len(texts)
        whole = [prompt + text for text in texts]
        return [tokens > limit for tokens in sentence_models.count_tokens(self._model, whole)]


class _Packed(ABC):
    """Tokenises each text once, and runs packed batches."""

    def __init__(self, reader: BatchTokenizer) -> None:
        self._reader = reader

    def vectors(self, texts: Sequence[str], kind: Kind, prompt: str = "") -> NDArray[np.float32]:
        """Return a row a text."""
        ids = self._reader.ids([prompt + text for text in texts])
        batches = pack([len(tokens) for tokens in ids])
        matrix: NDArray[np.float32] | None = None
        for number, rows in self._run(fill_batches(batches, ids, self._reader.reading.pad)):
            if matrix is None:
                matrix = np.empty((len(texts), rows.shape[1]), dtype=np.float32)
            numbers = list(batches[number].texts)
            matrix[numbers] = rows[: len(numbers)]
        assert matrix is not None, "there is a text"
        return matrix

    def truncated(self, texts: Sequence[str], prompt: str = "") -> list[bool]:
        """Return of each text whether it has more tokens than the model reads."""
        return self._reader.truncated([prompt + text for text in texts])

    @abstractmethod
    def _run(self, batches: Any) -> Any:
        """Yield the number and the vectors of each batch."""


class TorchEncoder(_Packed):
    """A model of the usual kind, run by torch."""

    def __init__(self, model: SentenceTransformer, reader: BatchTokenizer) -> None:
        super().__init__(reader)
        self._model = model

    def _run(self, batches: Any) -> Any:
        for number, (ids, mask) in enumerate(batches):
            yield number, sentence_models.forward(self._model, ids, mask)


class OpenVinoEncoder(_Packed):
    """A model of the usual kind, run by OpenVINO; read from where it is kept, if it is."""

    def __init__(self, name: str, precision: Precision) -> None:
        about = {"model": weights_id(name), "layout": _LAYOUT, "libraries": versions("openvino")}
        try:
            with model_cache.open_folder(about, partial(_convert, name)) as folder:
                tokenizer = (folder / _TOKENIZER).read_text(encoding="utf-8")
                reading = json.loads((folder / _READING).read_text(encoding="utf-8"))
                super().__init__(BatchTokenizer(parse_settings(tokenizer, reading)))
                model = openvino().Core().read_model(folder / _MODEL)
        except OSError as error:
            raise _openvino_error(name, f"its converted form cannot be written: {error}") from None
        self._compiled = Compiled(model, precision)

    def _run(self, batches: Any) -> Any:
        return self._compiled.run_batches(batches)


def _convert(name: str, folder: Path) -> None:
    """Convert the model.

    It is read from files afterwards: written and read, a model adds up in another order.
    """
    import torch

    model = sentence_models.load(name)
    usual = (
        sentence_models.guess_settings(model) if sentence_models.looks_usual(locate(name)) else None
    )
    if usual is None:
        raise _openvino_error(
            name, "it is not an encoder and its pooling alone, read in the usual way"
        )

    class Traced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            features = {"input_ids": input_ids, "attention_mask": attention_mask}
            return self.model(features)["sentence_embedding"]

    example = torch.ones((2, 8), dtype=torch.long)
    example_inputs = {"input_ids": example, "attention_mask": example}
    try:
        with silence_warnings():
            converted = openvino().convert_model(Traced().eval(), example_input=example_inputs)
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise _openvino_error(name, str(error).strip().split("\n")[0]) from None

    try:
        openvino().save_model(converted, folder / _MODEL, compress_to_fp16=False)
    except RuntimeError as error:
        raise OSError(f"{folder}: {error}") from None
    (folder / _TOKENIZER).write_text(usual.tokenizer, encoding="utf-8")
    (folder / _READING).write_text(json.dumps(usual.settings()), encoding="utf-8")
    exact = Compiled(openvino().Core().read_model(folder / _MODEL), "float32")
    if not sentence_models.gives_same_vectors(
        model, usual, lambda *arrays: next(exact.run_batches([arrays]))[1]
    ):
        raise _openvino_error(name, "its vectors come out other than those of torch")


def _openvino_error(name: str, why: str) -> ModelError:
    return ModelError(
        f"model {name!r} cannot be run by OpenVINO: {why}\n  set runtime: torch, or leave it out"
    )


class GpuEmbedder:
    """Embeds in batches filled by tokens, and reads texts while the card computes.

    A text's vector depends on its company in the last digits, as on any card. `reader` is None
    where only the model's library knows how to read texts.
    """

    def __init__(
        self, model: SentenceTransformer, reader: BatchTokenizer | None, card: DeviceRunner
    ) -> None:
        self._model, self._reader, self._card = model, reader, card

    def vectors(self, texts: Sequence[str], kind: Kind, prompt: str = "") -> NDArray[np.float32]:
        """Return a row a text; `prompt` is put before each."""
        if self._reader is not None:
            return self._embed_tokens([prompt + text for text in texts], self._reader)
        if not hasattr(self._model, "preprocess"):  # an older release
            return sentence_models.encode_texts(self._model, texts, kind, prompt)
        return self._embed_by_library(texts, kind, prompt)

    def truncated(self, texts: Sequence[str], prompt: str = "") -> list[bool]:
        """Return of each text whether it has more tokens than the model reads."""
        whole = [prompt + text for text in texts]
        if self._reader is not None:
            return self._reader.truncated(whole)
        limit = self._model.max_seq_length
        return [
            limit is not None and count > limit
            for count in sentence_models.count_tokens(self._model, whole)
        ]

    def _embed_tokens(self, texts: list[str], reader: BatchTokenizer) -> NDArray[np.float32]:
        cut = [False] * len(texts)

        def read(numbers: Sequence[int]) -> list[TokenizedText]:
            ids, over = reader.read([texts[number] for number in numbers])
            for number, is_cut in zip(numbers, over, strict=True):
                cut[number] = is_cut
            return [TokenizedText(len(tokens), tokens) for tokens in ids]

        vectors = self._card.matrix(
            range(len(texts)),
            BatchWork(
                lambda number: len(texts[number]),
                read,
                partial(pad_right, pad=reader.reading.pad),
                self._run,
            ),
        )
        reader.remember(texts, cut)
        return vectors

    def _embed_by_library(
        self, texts: Sequence[str], kind: Kind, prompt: str
    ) -> NDArray[np.float32]:
        limit = self._model.max_seq_length

        def read(batch: Sequence[str]) -> list[TokenizedText]:
            token_counts = sentence_models.count_tokens(
                self._model, [prompt + text for text in batch]
            )
            # The library does not say of every model: characters are hardly fewer than tokens.
            counts = [count or len(text) for count, text in zip(token_counts, batch, strict=True)]
            cut = [count if limit is None else min(count, limit) for count in counts]
            return [TokenizedText(count, text) for count, text in zip(cut, batch, strict=True)]

        def fill(batch: Sequence[str]) -> Features:
            features: Features = self._model.preprocess(list(batch), prompt=prompt, task=kind)
            return features

        return self._card.matrix(texts, BatchWork(len, read, fill, partial(self._run, task=kind)))

    def _run(self, features: Features, **options: Any) -> Tensor:
        vectors: Tensor = self._model(dict(features), **options)["sentence_embedding"]
        return vectors
