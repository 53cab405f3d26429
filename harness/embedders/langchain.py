"""LangChain: any embedding class of a LangChain package, hosted or local."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from pydantic import AfterValidator, BeforeValidator

from harness import dotted, usercode
from harness.arguments import Arguments, written
from harness.batches import batched
from harness.embedders import Kind, Vectors, embedders
from harness.embedding_class import Opened, Pace, opened
from harness.paths import portable
from harness.shortening import unit


@embedders.register
@dataclass(frozen=True)
class LangChain:
    """An embedding class of a LangChain package, by dotted name, with its arguments.

    `cls` is `package.module:Class`, and `arguments` are what it is made with; keys come from the
    environment, by the class's own variable. Chunks go to its `embed_documents`, `batch` at a
    time, and questions to its `embed_query`; no more than `per_minute` requests are begun in a
    minute (0: no limit). A request that fails in a way that may pass is made again, `retries`
    times, beside what the class itself does. How much of a text the model reads is not known.
    """

    cls: dotted.Name
    arguments: Annotated[tuple[str, ...], BeforeValidator(written), AfterValidator(Arguments)] = ()
    batch: Annotated[int, Ge(1)] = 64
    per_minute: Annotated[int, Ge(0)] = 0
    retries: Annotated[int, Ge(0)] = 3

    name: ClassVar[str] = "langchain"
    version: ClassVar[int] = 1
    floor: ClassVar[bool] = False
    kept: ClassVar[bool] = True

    @property
    def tokenizer(self) -> None:
        """There is none that is known."""

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return one unit vector a text.

        Raises:
            SpecError: there is no such class.
            ModelError: the class cannot be made, or gives up, or gives no proper vectors.
            MissingExtra: LangChain is not installed.
        """
        if not texts:
            return self.embed([""], kind)[:0]
        # Hosted models refuse a text of no length.
        asked = [text or " " for text in texts]
        model, pace = self._opened(), Pace(self.per_minute, self.retries)
        if kind == "query":
            found = [model.question(text, pace) for text in asked]
        else:
            found = [model.documents(some, pace) for some in batched(asked, self.batch)]
        return unit(np.concatenate(found))

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return False for each text: it is not known."""
        return [False] * len(texts)

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
            "arguments": portable(Arguments(self.arguments).identity()),
            "code": usercode.code_id(self.cls),
            "library": model.library,
            "server": portable(model.server),
        }

    def describe(self) -> dict[str, Any]:
        """Return nothing: what runs the model is not known."""
        return {}

    def warnings(self) -> list[str]:
        """Return nothing."""
        return []

    def _opened(self) -> Opened:
        module, _, name = self.cls.replace(":", ".").rpartition(".")
        return opened(f"{module}:{name}", Arguments(self.arguments))
