"""Retrievers: each ranks chunks for questions. Add one by adding a file here."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from pydantic import BeforeValidator

from harness import fingerprint
from harness.corpus.chunk_set import ChunkSet
from harness.errors import ModelError, StageError
from harness.models.chat import ChatModel
from harness.models.chat.settings import ChatReply
from harness.models.prompts import check_places, fill_template, load_prompt
from harness.models.rephrasing import PromptRequest
from harness.protocols import Embedder, TextKind, VectorIndex, Vectors
from harness.ranking import fusion
from harness.ranking.exact_search import Neighbour, Numbers
from harness.records import Document, Hit
from harness.registry import Registry, label, spec_name
from harness.text.stopwords import Language

T = TypeVar("T")


class SharedWork(Protocol):
    """The work that cells share, so that each piece is done once."""

    def embed_questions(
        self, questions: Sequence[str], embedder: Embedder, kind: TextKind = "query"
    ) -> Vectors:
        """Return the questions' vectors."""
        ...

    def ask(self, chat: ChatModel, requests: Sequence[PromptRequest[T]]) -> list[T | StageError]:
        """Return what a chat model says, or why there is nothing."""
        ...

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gave the first time that `key` was asked for."""
        ...


class SearchContext:
    """What a retriever searches: the chunks of one cell and, where asked for, their vectors.

    `allowed` are the numbers of the chunks that may be hits, rising; None: all may be.
    """

    def __init__(
        self,
        chunks: ChunkSet,
        work: SharedWork,
        embedder: Embedder | None,
        opened: Callable[[Embedder], VectorIndex],
    ) -> None:
        self.chunks = chunks
        self.allowed: Numbers | None = None
        self._work = work
        self._embedder = embedder
        self._opened = opened
        self._stand_ins: Mapping[str, Vectors] = {}
        self._failed: dict[tuple[str, int], StageError] = {}

    def embed_questions(self, questions: Sequence[str], kind: TextKind = "query") -> Vectors:
        """Return the questions' vectors; each question is embedded once."""
        assert self._embedder is not None, "the retriever says that it uses no vectors"
        if kind == "query" and self._stand_ins:
            return np.array([self._stand_ins[question] for question in questions])
        return self._work.embed_questions(questions, self._embedder, kind)

    def nearest(self, vectors: Vectors, k: int) -> list[list[Neighbour]]:
        """Return the `k` nearest of the allowed chunks of each vector, best first."""
        return self._index().nearest(vectors, k, self.allowed)

    def vectors(self, chunks: Sequence[int]) -> Vectors:
        """Return the vectors of chunks, by number."""
        return self._index().vectors(chunks)

    def among(self, allowed: Numbers) -> SearchContext:
        """Return a view of this in which only these chunks may be hits, if they may be here."""
        view = copy.copy(self)
        if self.allowed is not None:
            allowed = np.intersect1d(self.allowed, allowed, assume_unique=True)
        view.allowed = allowed
        return view

    def without_texts(self) -> SearchContext:
        """Return a view of this whose hits have no text, for whoever asks for very many."""
        view = copy.copy(self)
        view.chunks = self.chunks.without_texts
        return view

    def embedded_as(self, vectors: Mapping[str, Vectors]) -> SearchContext:
        """Return a view of this in which these questions have these vectors [d], and no others."""
        view = copy.copy(self)
        view._stand_ins = vectors
        return view

    def ask(self, chat: ChatModel, requests: Sequence[PromptRequest[T]]) -> list[T]:
        """Return what is read of the reply to each prompt; several are asked at once, and kept.

        What failed is not asked again, so that a batch that fails can be asked one by one.

        Raises:
            StageError: there is no usable reply to one of them; all have been asked by then.
        """
        new = [
            request for request in requests if (request.prompt, request.sample) not in self._failed
        ]
        replies = self._work.ask(chat, new)
        for request, reply in zip(new, replies, strict=True):
            if isinstance(reply, StageError):
                self._failed[request.prompt, request.sample] = reply
        for request in requests:
            if (request.prompt, request.sample) in self._failed:
                raise self._failed[request.prompt, request.sample]
        return [reply for reply in replies if not isinstance(reply, StageError)]

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gave the first time that `key` was asked for on these chunks."""
        return self._work.once(key, make)

    def _index(self) -> VectorIndex:
        assert self._embedder is not None, "the retriever says that it uses no vectors"
        return self._opened(self._embedder)


class Retriever(ABC):
    """What every file in this package provides: `retrieve`, and what differs from the defaults."""

    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def uses_vectors(self) -> bool:
        """Whether the embedder has any part in it; cells that differ in it alone are one."""
        return True

    def check(self, documents: Mapping[str, Document] | None) -> None:
        """Raise what would stop every question on these documents: an unknown field, say.

        `documents` is None where what is searched is a collection that was not read yet.
        """
        return  # Nothing, for most.

    def in_language(self, language: Language) -> Self:
        """Return this for texts in a language; most look at no words."""
        return self

    @abstractmethod
    def retrieve(self, questions: Sequence[str], index: SearchContext, k: int) -> list[list[Hit]]:
        """Return at most `k` hits a question: no repeats, scores never rise, ties by chunk number.

        Only chunks that `index.allowed` has are hits. Of those that score as the last one does, the
        hits have the lowest numbers.
        """


class _Held(Retriever):
    """Checks the rankings that a retriever from outside the package gives."""

    def retrieve(self, questions: Sequence[str], index: SearchContext, k: int) -> list[list[Hit]]:
        """Return the rankings; raise `ModelError` for what are none."""
        rankings = super().retrieve(questions, index, k)  # type: ignore[safe-super]
        fault = ""
        if len(rankings) != len(questions):
            fault = f"{len(rankings)} rankings for {len(questions)} questions"
        for hits in () if fault else rankings:
            numbers = [hit.chunk.index for hit in hits]
            if len(hits) > k:
                fault = f"{len(hits)} hits where {k} were asked for"
            elif len(set(numbers)) < len(numbers):
                fault = "one chunk twice in a ranking"
            elif any(before.score < hit.score for before, hit in pairwise(hits)):
                fault = "scores that rise within a ranking"
            elif index.allowed is not None and not np.isin(numbers, index.allowed).all():
                fault = "a chunk that a filter leaves out"
        if fault:
            raise ModelError(
                f"retriever {spec_name(self)!r} gave {fault}\n  a retriever promises a ranking a "
                "question: at most k of the allowed chunks, none twice, scores that never rise"
            )
        return rankings


retrievers: Registry[Retriever] = Registry("retriever", __name__, Retriever, held=_Held)


def _check_part(spec: Any) -> Any:
    """Return the spec of a retriever inside another as text; one that asks a model is refused."""
    part = retrievers.build(spec)
    if any("injected" in field.metadata for field in fields(part)):  # type: ignore[arg-type]
        raise ValueError(
            f"{part.name!r} asks a chat model about the question, so it comes outermost: "
            f"write {part.name}(of=...), with what it is to search in its `of`"
        )
    return spec if isinstance(spec, str) else label(part)


Part = Annotated[str, BeforeValidator(_check_part, json_schema_input_type=str | dict[str, Any])]
"""A retriever inside another: `name(option=value, ...)`, or a mapping as at the top."""


class CompositeRetriever(Retriever):
    """What retrievers made of others share: the field `of`, a `Part` or several of them."""

    of: str | tuple[str, ...]

    def parts(self) -> list[Retriever]:
        """Return the retrievers that this one is made of."""
        return [retrievers.build(s) for s in ((self.of,) if isinstance(self.of, str) else self.of)]

    def identity(self) -> dict[str, Any]:
        """Return name, version and parameters, and those of its parts."""
        return {
            **fingerprint.identity(self),
            "of": list(map(fingerprint.identity_of, self.parts())),
        }

    @property
    def uses_vectors(self) -> bool:
        """Whether any of its parts does."""
        return any(part.uses_vectors for part in self.parts())

    def check(self, documents: Mapping[str, Document] | None) -> None:
        """Raise what would stop every question on these documents; None: not known yet."""
        for part in self.parts():
            part.check(documents)

    def in_language(self, language: Language) -> Self:
        """Return this with its parts in a language."""
        of = (
            _in_language(self.of, language)
            if isinstance(self.of, str)
            else tuple(_in_language(spec, language) for spec in self.of)
        )
        return self if of == self.of else replace(self, of=of)  # type: ignore[type-var]


class ChatRetriever(CompositeRetriever):
    """What retrievers share that ask a chat model for other texts to search for.

    Each has the fields named here; those of rank fusion only where it is not `retrieve` of its own
    that ranks. `prompt` is a file, or a text that has the place {question}; the
    run fills in `template`, the text of that file, and `chat`.
    """

    name: ClassVar[str]
    n: int
    c: float
    depth: int
    prompt: str | None
    chat: ChatModel | None
    template: str | None

    def __post_init__(self) -> None:
        check_places(self._prompt(), ["question"], ["n"])

    def identity(self) -> dict[str, Any]:
        """Return what `CompositeRetriever` has, the chat model, and a hash of the prompt's text."""
        rest = {"prompt": fingerprint.fingerprint(self._prompt()), "template": None}
        return {**super().identity(), **rest}

    def check(self, documents: Mapping[str, Document] | None) -> None:
        """Raise what would stop every question: the chat model cannot be started, say."""
        self.asked_model().check()
        super().check(documents)

    def request_for(
        self, question: str, read: Callable[[ChatReply], T], sample: int = 0
    ) -> PromptRequest[T]:
        """Return what is to be asked about a question."""
        return PromptRequest(
            fill_template(self._prompt(), question=question, n=self.n), sample, read
        )

    @abstractmethod
    def requests(self, questions: Sequence[str]) -> list[PromptRequest[Any]]:
        """Return all that the chat model is asked about these, as many of each; nobody is asked."""

    def texts(self, questions: Sequence[str], index: SearchContext) -> list[tuple[str, ...]]:
        """Return for each question what is searched for in its place, or beside it.

        Raises:
            StageError: there is no usable reply about one of them.
        """
        return index.ask(self.asked_model(), self.requests(questions))

    def _prompt(self) -> str:
        text = self.template or (self.prompt if "{" in (self.prompt or "") else None)
        return text or load_prompt(self.name)

    def retrieve(self, questions: Sequence[str], index: SearchContext, k: int) -> list[list[Hit]]:
        """Return what is found for the texts of each question, fused by rank.

        Raises:
            StageError: the chat model gave no text for a question.
        """
        (part,) = self.parts()
        texts = self.texts(questions, index)
        every = [text for wordings in texts for text in wordings]
        rankings = iter(part.retrieve(every, index, max(k, self.depth)))
        return [fusion.by_rank([next(rankings) for _ in each], self.c)[:k] for each in texts]

    def asked_model(self) -> ChatModel:
        """Return the chat model; the run fills it in, or refuses the configuration."""
        assert self.chat is not None, f"{self.name!r} was built outside of a run"
        return self.chat


def _in_language(spec: str, language: Language) -> str:
    part = retrievers.build(spec)
    changed = part.in_language(language)
    return spec if changed == part else label(changed)
