"""LangChain classes that a configuration can name: one for each way to behave."""

from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever


class ByLength(BaseDocumentCompressor):
    """Gives back the shortest `top_n`, and cuts each to its first `letters`."""

    top_n: int = 100
    letters: int | None = None

    def compress_documents(self, documents, query, callbacks=None):
        short = sorted(documents, key=lambda document: len(document.page_content))[: self.top_n]
        return [
            Document(each.page_content[: self.letters], metadata=each.metadata) for each in short
        ]


class Twice(BaseDocumentCompressor):
    def compress_documents(self, documents, query, callbacks=None):
        return [*documents[::-1], *documents]


class Forgets(BaseDocumentCompressor):
    def compress_documents(self, documents, query, callbacks=None):
        return [Document("something else")]


class Breaks(BaseDocumentCompressor):
    def compress_documents(self, documents, query, callbacks=None):
        raise RuntimeError(f"no answer to {query!r}")


class Ends(BaseDocumentCompressor):
    def compress_documents(self, documents, query, callbacks=None):
        raise SystemExit(0)


class NeedsAKey(Breaks):
    def __init__(self, **arguments):
        raise ValueError("set NOBODY_API_KEY")


NOT_A_CLASS = 3


class BySharedWords(BaseRetriever):
    """Ranks the documents it is given by how many of the question's words they have."""

    documents: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):
        words = set(query.lower().split())

        def shared(document):
            return -len(words & set(document.page_content.lower().replace(",", " ").split()))

        return sorted(self.documents, key=shared)
