"""Sentence transformer: any model of the sentence-transformers library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from harness.embedders import Kind, Vectors, embedders
from harness.errors import ModelError
from harness.models import DEFAULT_MODEL, weights_id
from harness.runtime.choice import Choice, choose
from harness.runtime.encoders import Encoder, open_encoder


@embedders.register
@dataclass(frozen=True)
class SentenceTransformer:
    """A sentence-transformers model, by folder or hub name; vectors are brought to length 1.

    A model's own prompts for questions and documents are used where it has any. What runs it is
    chosen by measurement, once a machine: `runtime` and `precision` leave less to choose from.
    bfloat16 changes vectors a little, and is only chosen where the processor has it.
    """

    model: str = DEFAULT_MODEL
    runtime: Literal["auto", "torch", "openvino"] = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"

    name: ClassVar[str] = "sentence_transformer"
    version: ClassVar[int] = 2
    floor: ClassVar[bool] = False
    kept: ClassVar[bool] = True

    @property
    def tokenizer(self) -> str:
        """The model itself."""
        return self.model

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return one unit vector a text.

        Raises:
            ModelError: the model cannot be loaded, or gives a vector that is not finite.
        """
        if not texts:
            return self.embed([""], kind)[:0]
        vectors = self._encoder().vectors(texts, kind)
        if not np.isfinite(vectors).all():
            raise ModelError(f"model {self.model!r} gave a vector that is not finite")
        # Here and not in the library, which would do it in the model's own, coarser numbers.
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return of each text whether it has more tokens than the model reads, marks included."""
        return self._encoder().truncated(texts) if texts else []

    def identity(self) -> dict[str, Any]:
        """Return model name, the hash of its files, and what runs it.

        Vectors of another runtime, precision or device are other vectors, in their last digits.
        """
        chosen = self._chosen()
        return {
            "name": self.name,
            "version": self.version,
            "model": self.model,
            "weights": weights_id(self.model),
            "runtime": chosen.runtime,
            "precision": chosen.precision,
            "device": chosen.device,
        }

    def describe(self) -> dict[str, Any]:
        """Return runtime, precision and device, and each candidate's speed where measured."""
        return asdict(self._chosen())

    def _chosen(self) -> Choice:
        return choose(self.model, self.runtime, self.precision)

    def _encoder(self) -> Encoder:
        chosen = self._chosen()
        return open_encoder(self.model, chosen.runtime, chosen.precision, chosen.device)
