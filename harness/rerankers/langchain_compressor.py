"""LangChain: any document compressor of it or of a package for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from annotated_types import Gt
from pydantic import AfterValidator, BeforeValidator

from harness import fingerprint, user_code
from harness.errors import MissingExtra, StageError
from harness.records import Hit
from harness.rerankers import Reranker, rerankers
from harness.text.arguments import Arguments, format_arguments
from harness.text.secrets import describe_error


@rerankers.register
@dataclass(frozen=True)
class LangChainReranker(Reranker):
    """Orders hits by a LangChain `BaseDocumentCompressor`, named as package.module:Class.

    `arguments` are what the class is made with; keys come from the environment variables it reads.
    What the compressor leaves out is left out, and what it splits counts once. A hit keeps its own
    text, also where the compressor shortened it: so an extractor only chooses and orders. The score
    of a hit is 1 / its rank. `keep` hits stay; none: all.
    """

    cls: user_code.Name
    arguments: Annotated[
        tuple[str, ...], BeforeValidator(format_arguments), AfterValidator(Arguments)
    ] = ()
    keep: Annotated[int, Gt(0)] | None = None

    name: ClassVar[str] = "langchain"
    version: ClassVar[int] = 1

    def check(self) -> None:
        """Make the compressor, which finds a missing package, name or key."""
        _compressor(self.cls, self.arguments)

    def identity(self) -> dict[str, Any]:
        """Return name, version, parameters, the class's code and its library.

        Raises:
            SpecError: there is no such class.
        """
        code, library = user_code.code_id(self.cls), user_code.distributions_of(self.cls)
        return {**fingerprint.identity(self), "code": code, "library": library}

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits in the compressor's order."""
        from langchain_core.documents import Document

        if not hits:
            return []
        documents = [
            Document(hit.chunk.indexed_text, metadata={"index": index, "doc": hit.chunk.span.doc})
            for index, hit in enumerate(hits)
        ]
        compressor = _compressor(self.cls, self.arguments)
        try:
            ranked_documents = list(compressor.compress_documents(documents, question))
        except (Exception, SystemExit) as error:  # noqa: BLE001  each has errors of its own
            raise StageError(f"{self.cls} failed: {describe_error(error)}") from None
        places = dict.fromkeys(document.metadata.get("index") for document in ranked_documents)
        if not places.keys() <= set(range(len(hits))):
            raise StageError(f"{self.cls} gave back a document without the metadata it was given")
        ranked = enumerate(list(places)[: self.keep], start=1)
        return [Hit(hits[index].chunk, 1 / rank) for rank, index in ranked]


@lru_cache
def _compressor(name: str, arguments: tuple[str, ...]) -> Any:
    try:
        from langchain_core.documents import BaseDocumentCompressor
    except ModuleNotFoundError as error:
        raise MissingExtra("reranker 'langchain'", str(error.name), "openai") from None
    return user_code.make(name, arguments, BaseDocumentCompressor)
