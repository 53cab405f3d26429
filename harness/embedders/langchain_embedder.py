"""LangChain: any embedding class of a LangChain package, hosted or local."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from pydantic import AfterValidator, BeforeValidator

from harness import user_code
from harness.embedders import embedders
from harness.embedders.shortening import to_unit_length
from harness.files.batches import batched
from harness.files.paths import make_portable
from harness.models.embedding_class import OpenedClass, RequestPace, open_class
from harness.protocols import Embedder, TextKind, Vectors
from harness.text.arguments import Arguments, format_arguments


@embedders.register
@dataclass(frozen=True)
class LangChainEmbedder(Embedder):
    """An embedding class of a LangChain package, by dotted name, with its arguments.

    `cls` is `package.module:Class`, and `arguments` are what it is made with; keys come from the
    environment, by the class's own variable. Chunks go to its `embed_documents`, `batch` at a
    time, and questions to its `embed_query`; no more than `per_minute` requests are begun in a
    minute (0: no limit). A request that fails in a way that may pass is made again, `retries`
    times; a class that repeats requests too is told not to, unless `arguments` name its
    `max_retries`. How much of a text the model reads is not known.
    """

    cls: user_code.Name
    arguments: Annotated[
        tuple[str, ...], BeforeValidator(format_arguments), AfterValidator(Arguments)
    ] = ()
    batch: Annotated[int, Ge(1)] = 64
    per_minute: Annotated[int, Ge(0)] = 0
    retries: Annotated[int, Ge(0)] = 3

    name: ClassVar[str] = "langchain"
    version: ClassVar[int] = 1

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text.

        Raises:
            SpecError: there is no such class.
            ModelError: the class cannot be made, or gives up, or gives no proper vectors.
            MissingExtra: LangChain is not installed.
        """
        if not texts:
            return self.embed([""], kind)[:0]
        # Hosted models refuse a text of no length.
        sent = [text or " " for text in texts]
        model, pace = self._opened(), RequestPace(self.per_minute, self.retries)
        if kind == "query":
            parts = [model.question(text, pace) for text in sent]
        else:
            parts = [model.documents(batch, pace) for batch in batched(sent, self.batch)]
        return to_unit_length(np.concatenate(parts))

    def identity(self) -> dict[str, Any]:
        """Return the class, its arguments, its code, its library and the server it asks.

        Raises:
            SpecError: there is no such class.
            ModelError: the class cannot be made.
            MissingExtra: LangChain is not installed.
        """
        model = self._opened()
        return {
            "name": self.name,
            "version": self.version,
            "cls": model.name,
            "arguments": make_portable(Arguments(self.arguments).identity()),
            "code": user_code.code_id(self.cls),
            "library": model.library,
            "server": make_portable(model.server),
        }

    def _opened(self) -> OpenedClass:
        module, _, name = self.cls.replace(":", ".").rpartition(".")
        return open_class(f"{module}:{name}", Arguments(self.arguments))
