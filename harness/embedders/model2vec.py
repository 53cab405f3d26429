"""Model2vec: static vectors distilled from a sentence transformer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge

from harness import fingerprint
from harness.embedders import embedders
from harness.embedders.shortening import check_dimensions, shorten, to_unit_length
from harness.errors import MissingExtra, ModelError
from harness.models.model_files import explain_load_error, locate, weights_id
from harness.protocols import Embedder, TextKind, Vectors


@embedders.register
@dataclass(frozen=True)
class Model2Vec(Embedder):
    """A model2vec model, by folder or hub name: the mean of static token vectors, fast.

    Every token is read, where the library stops at 512 by default. `dimensions` keeps
    that many of a vector's first numbers. A text without a known token is the first axis.
    """

    model: str
    dimensions: Annotated[int, Ge(1)] | None = None

    name: ClassVar[str] = "model2vec"
    version: ClassVar[int] = 1

    @property
    def tokenizer(self) -> str:
        """The model itself."""
        return self.model

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text.

        Raises:
            ModelError: the model cannot be loaded, or gives a vector that is not finite.
            MissingExtra: the library is not installed.
        """
        model = _load(self.model)
        # One text a batch, as the library holds every token's vector of a batch at once; and one
        # text more than there are, as it has nothing to give for none.
        options = {"batch_size": 1, "max_length": None, "use_multiprocessing": False}
        vectors = model.encode([*texts, ""], **options)[:-1]
        if not np.isfinite(vectors).all():
            raise ModelError(f"model {self.model!r} gave a vector that is not finite")
        return shorten(to_unit_length(vectors), self.dimensions, "none")

    def identity(self) -> dict[str, Any]:
        """Return name, version, parameters, the library's version and the hash of the files.

        Raises:
            ModelError: the model cannot be loaded, or has fewer numbers than `dimensions`.
            MissingExtra: the library is not installed.
        """
        check_dimensions(self.model, _load(self.model).dim, self.dimensions)
        return {
            **fingerprint.identity(self),
            **fingerprint.versions("model2vec"),
            "weights": weights_id(self.model),
        }


@lru_cache(maxsize=4)
def _load(name: str) -> Any:
    try:
        from model2vec import StaticModel
    except ModuleNotFoundError as error:
        raise MissingExtra("embedder 'model2vec'", str(error.name), "static") from None
    with explain_load_error(name):
        model = StaticModel.from_pretrained(locate(name), force_download=False)
    # The mean of many numbers is taken in their own kind, which may be of 16 bits.
    model.embedding = model.embedding.astype(np.float32)
    return model
