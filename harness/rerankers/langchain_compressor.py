"""LangChain: any document compressor of it or of a package for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.errors import StageError
from harness.models.langchain_class import LangChainClass
from harness.records import Hit
from harness.rerankers import Reranker, rerankers
from harness.text.secrets import describe_error


@rerankers.register
@dataclass(frozen=True)
class LangChainReranker(LangChainClass, Reranker):
    """Orders hits by a LangChain `BaseDocumentCompressor`, named as package.module:Class.

    `arguments` are what the class is made with; keys come from the environment variables it reads.
    What the compressor leaves out is left out, and what it splits counts once. A hit keeps its own
    text, also where the compressor shortened it: so an extractor only chooses and orders. The score
    of a hit is 1 / its rank. `keep` hits stay; none: all.
    """

    keep: Annotated[int, Gt(0)] | None = None

    name: ClassVar[str] = "langchain"
    version: ClassVar[int] = 1
    base: ClassVar[str] = "langchain_core.documents.compressor:BaseDocumentCompressor"

    def check(self) -> None:
        """Make the compressor, which finds a missing package, name or key."""
        self.made()

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits in the compressor's order."""
        from langchain_core.documents import Document

        if not hits:
            return []
        documents = [
            Document(hit.chunk.indexed_text, metadata={"index": index, "doc": hit.chunk.span.doc})
            for index, hit in enumerate(hits)
        ]
        compressor = self.made()
        try:
            ranked_documents = list(compressor.compress_documents(documents, question))
        except (Exception, SystemExit) as error:  # noqa: BLE001  each has errors of its own
            raise StageError(f"{self.cls} failed: {describe_error(error)}") from None
        places = dict.fromkeys(document.metadata.get("index") for document in ranked_documents)
        if not places.keys() <= set(range(len(hits))):
            raise StageError(f"{self.cls} gave back a document without the metadata it was given")
        ranked = enumerate(list(places)[: self.keep], start=1)
        return [Hit(hits[index].chunk, 1 / rank) for rank, index in ranked]
