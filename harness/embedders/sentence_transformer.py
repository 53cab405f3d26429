"""Sentence transformer: any model of the sentence-transformers library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge

from harness.embedders import embedders
from harness.embedders.shortening import Quantize, check_dimensions, shorten, to_unit_length
from harness.errors import ModelError
from harness.models.model_files import DEFAULT_MODEL, weights_id
from harness.models.runtime import encoder_prompts
from harness.models.runtime.encoder_prompts import EncoderPrompts
from harness.models.runtime.encoders import Choice, choose, open_encoder
from harness.protocols import Embedder, TextKind, Vectors


@embedders.register
@dataclass(frozen=True)
class SentenceTransformer(Embedder):
    """A sentence-transformers model, by folder or hub name; vectors are brought to length 1.

    `query_prompt` is put before each question and `document_prompt` before each chunk; none: the
    model's own, where its files name one; "" leaves it out. `dimensions` keeps that many of a
    vector's first numbers, for models trained to be cut (Matryoshka); `quantize` then rounds them:
    int8 to 127ths of the vector's own largest, binary to their signs.
    `runtime` auto is torch where it can use a graphics card, else OpenVINO where that is installed
    and can run the model, else torch. `precision` auto is bfloat16, which changes vectors a little,
    where the card or the processor has it.
    """

    model: str = DEFAULT_MODEL
    query_prompt: str | None = None
    document_prompt: str | None = None
    dimensions: Annotated[int, Ge(1)] | None = None
    quantize: Quantize = "none"
    runtime: Literal["auto", "torch", "openvino"] = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"

    name: ClassVar[str] = "sentence_transformer"
    version: ClassVar[int] = 3

    @property
    def tokenizer(self) -> str:
        """The model itself."""
        return self.model

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text.

        Raises:
            ModelError: the model cannot be loaded, or gives a vector that is not finite.
        """
        if not texts:
            return self.embed([""], kind)[:0]
        vectors = open_encoder(self.model, self._chosen()).vectors(
            texts, kind, self._prompts().for_kind(kind)
        )
        if not np.isfinite(vectors).all():
            raise ModelError(f"model {self.model!r} gave a vector that is not finite")
        # Here and not in the library, which would do it in the model's own, coarser numbers.
        return self.shorten(to_unit_length(vectors))

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return of each text whether it has more tokens than the model reads, marks included."""
        if not texts:
            return []
        return open_encoder(self.model, self._chosen()).truncated(texts, self._prompts().document)

    def whole(self) -> SentenceTransformer:
        """Return the embedder of the model's full vectors."""
        return replace(self, dimensions=None, quantize="none")

    def shorten(self, vectors: Vectors) -> Vectors:
        """Return the full vectors cut to `dimensions` and quantized."""
        return shorten(vectors, self.dimensions, self.quantize)

    def identity(self) -> dict[str, Any]:
        """Return model name, the hash of its files, its prompts, and what runs it.

        Vectors of another runtime, precision or device are other vectors, in their last digits.

        Raises:
            ModelError: the model cannot be found, or has fewer numbers than `dimensions`.
        """
        chosen = self._chosen()
        if self.dimensions is not None:
            check_dimensions(self.model, _size(self.whole()), self.dimensions)
        prompts = self._prompts()
        return {
            "name": self.name,
            "version": self.version,
            "model": self.model,
            "weights": weights_id(self.model),
            "query_prompt": prompts.query,
            "document_prompt": prompts.document,
            "dimensions": self.dimensions,
            "quantize": self.quantize,
            "runtime": chosen.runtime,
            "precision": chosen.precision,
            "device": chosen.device,
        }

    def describe(self) -> dict[str, Any]:
        """Return runtime, precision and device."""
        return asdict(self._chosen())

    def warnings(self) -> list[str]:
        """Return a line for each prompt that the model expects and does not get."""
        return list(encoder_prompts.missing_prompt_warnings(self.model, self._prompts()))

    def _prompts(self) -> EncoderPrompts:
        return encoder_prompts.prompts_in_use(self.model, self.query_prompt, self.document_prompt)

    def _chosen(self) -> Choice:
        return choose(self.model, self.runtime, self.precision)


@lru_cache
def _size(whole: SentenceTransformer) -> int:
    return int(whole.embed([""], "document").shape[1])
