"""LangChain: any retriever of it or of a package for it that ranks documents it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from harness import user_code
from harness.errors import HarnessError, ModelError, SpecError, StageError
from harness.models.langchain_class import LangChainClass
from harness.ranking.exact_search import Numbers
from harness.records import Document, Hit
from harness.retrievers import Retriever, SearchContext, retrievers
from harness.text import variables
from harness.text.arguments import Arguments
from harness.text.secrets import describe_error


@retrievers.register
@dataclass(frozen=True)
class LangChainRetriever(LangChainClass, Retriever):
    """Ranks chunks by a LangChain `BaseRetriever`, named as package.module:Class.

    It is given the chunks as documents, by its `from_documents` or its field `documents`, beside
    `arguments`; its `k` is set to as many hits as are asked for. What it returns keeps the metadata
    that it was given. The score of a hit is 1 / its rank. A retriever over a store of its own is a
    system under test: `system: {runnable: ...}`.
    """

    name: ClassVar[str] = "langchain"
    version: ClassVar[int] = 1
    base: ClassVar[str] = "langchain_core.retrievers:BaseRetriever"
    uses_vectors: ClassVar[bool] = False

    def check(self, documents: Mapping[str, Document] | None) -> None:
        """Raise `SpecError` where it cannot be given the chunks."""
        kind = user_code.load(self.cls, user_code.load(self.base))
        if not hasattr(kind, "from_documents") and "documents" not in kind.model_fields:
            raise SpecError(
                f"retriever {self.cls!r} has no `from_documents` and no field `documents`",
                "one with a store of its own is a system: {runnable: package.module:object}",
            )

    def retrieve(self, questions: Sequence[str], index: SearchContext, k: int) -> list[list[Hit]]:
        """Return the hits of each question, in the order of the documents it returns.

        Raises:
            StageError: it failed, or gave back a document without its metadata.
        """
        numbers = np.arange(len(index.chunks)) if index.allowed is None else index.allowed
        key = (self.name, self, numbers.tobytes())
        retriever = index.once(key, lambda: self._filled(index, numbers))
        if "k" in type(retriever).model_fields:
            retriever = retriever.model_copy(update={"k": k})
        rankings: list[list[Hit]] = []
        for question in questions:
            try:
                documents = retriever.invoke(question)
            except Exception as error:  # noqa: BLE001  each has errors of its own
                raise StageError(f"{self.cls} failed: {describe_error(error)}") from None
            found = dict.fromkeys(document.metadata.get("index") for document in documents)
            if not found.keys() <= set(numbers.tolist()):
                raise StageError(f"{self.cls} gave back a document without its metadata")
            ranked = enumerate(list(found)[:k], start=1)
            rankings.append([Hit(index.chunks[number], 1 / rank) for rank, number in ranked])
        return rankings

    def _filled(self, index: SearchContext, numbers: Numbers) -> Any:
        """Return the retriever with the chunks of these numbers as its documents."""
        from langchain_core.documents import Document as LangChainDocument

        kind = user_code.load(self.cls, user_code.load(self.base))
        documents = [
            LangChainDocument(
                chunk.indexed_text, metadata={"index": chunk.index, "doc": chunk.span.doc}
            )
            for chunk in map(index.chunks.__getitem__, numbers.tolist())
        ]
        arguments = variables.fill_variables(Arguments(self.arguments).identity())
        make = getattr(kind, "from_documents", None) or kind
        try:
            return make(documents=documents, **arguments)
        except HarnessError:
            raise
        except Exception as error:  # noqa: BLE001  each has errors of its own
            raise ModelError(f"{self.cls!r} cannot be made: {describe_error(error)}") from None
