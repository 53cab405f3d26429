"""Sentence transformer: any model of the sentence-transformers library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Gt

from harness import fingerprint
from harness.embedders import Kind, Vectors, embedders
from harness.errors import MissingExtra, ModelError
from harness.models import DEFAULT_MODEL, hush, locate, token_counter, weights_id

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer as Model


@embedders.register
@dataclass(frozen=True)
class SentenceTransformer:
    """A sentence-transformers model, by folder or hub name; vectors are brought to length 1.

    `precision: auto` is float32; bfloat16 is faster where the processor has it, and changes the
    vectors a little. A model's own prompts for questions and documents are used where it has any.
    """

    model: str = DEFAULT_MODEL
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    batch: Annotated[int, Gt(0)] = 32

    name: ClassVar[str] = "sentence_transformer"
    version: ClassVar[int] = 1
    floor: ClassVar[bool] = False

    @property
    def tokenizer(self) -> str:
        """The model itself."""
        return self.model

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return one unit vector a text."""
        if not texts:
            return self.embed([""], kind)[:0]
        model = _load(self.model, self.precision)
        encode = model.encode_query if kind == "query" else model.encode_document
        vectors = encode(
            list(texts),
            batch_size=self.batch,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        vectors = np.asarray(vectors, dtype=np.float32).reshape(len(texts), -1)
        if not np.isfinite(vectors).all():
            raise ModelError(f"model {self.model!r} gave a vector that is not finite")
        # Here and not in the library, which would do it in the model's own, coarser numbers.
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    def truncated(self, texts: Sequence[str]) -> int:
        """Return how many texts have more tokens than the model reads, special ones included."""
        model = _load(self.model, self.precision)
        limit = model.max_seq_length
        if limit is None:
            return 0
        count = token_counter(self.model)
        special = model.tokenizer.num_special_tokens_to_add()
        return sum(1 for text in texts if count(text) + special > limit)

    def identity(self) -> dict[str, Any]:
        """Return model name, the hash of its weights, and precision; not the batch size."""
        return {
            **{k: v for k, v in fingerprint.identity(self).items() if k != "batch"},
            "model": self.model,
            "weights": weights_id(self.model),
        }


@lru_cache(maxsize=4)
def _load(name: str, precision: str) -> Model:
    try:
        import torch
        from sentence_transformers import SentenceTransformer as Model
    except ModuleNotFoundError as error:
        raise MissingExtra("embedder 'sentence_transformer'", str(error.name), "offline") from None
    hush()
    try:
        model = Model(str(locate(name)), local_files_only=True)
    except (OSError, ValueError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"model {name!r} cannot be loaded: {said}") from None
    return model.to(torch.bfloat16) if precision == "bfloat16" else model
