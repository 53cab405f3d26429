"""Retrievers: each ranks chunks for questions. Add one by adding a file here."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from harness import fingerprint, fusion, rephrasing
from harness.chat import ChatModel, Reply
from harness.chunking import ChunkSet
from harness.embedders import Kind, Vectors
from harness.exact import Near
from harness.prompts import filled
from harness.records import Document, Hit
from harness.registry import Registry, label
from harness.rephrasing import Wanted

T = TypeVar("T")
Numbers = NDArray[np.int64]


class Searchable(Protocol):
    """What a retriever searches: the chunks of one corpus and, where asked for, their vectors."""

    @property
    def chunks(self) -> ChunkSet:
        """All chunks, by number."""
        ...

    @property
    def allowed(self) -> Numbers | None:
        """The numbers of the chunks that may be hits, rising; None: all may be."""
        ...

    def embed_questions(self, questions: Sequence[str], kind: Kind = "query") -> Vectors:
        """Return the questions' vectors; each question is embedded once."""
        ...

    def nearest(self, vectors: Vectors, k: int) -> list[list[Near]]:
        """Return the `k` nearest of the allowed chunks of each vector, best first."""
        ...

    def vectors(self, chunks: Sequence[int]) -> Vectors:
        """Return the vectors of chunks, by number."""
        ...

    def among(self, allowed: Numbers) -> Searchable:
        """Return a view of this in which only these chunks may be hits, if they may be here."""
        ...

    def embedded_as(self, vectors: Mapping[str, Vectors]) -> Searchable:
        """Return a view of this in which these questions have these vectors [d], and no others."""
        ...

    def ask(self, chat: ChatModel, wanted: Sequence[Wanted[T]]) -> list[T]:
        """Return what is read of the reply to each prompt; several are asked at once, and kept.

        Raises:
            StageError: there is no usable reply to one of them; all have been asked by then.
        """
        ...

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gave the first time that `key` was asked for on these chunks."""
        ...


class Retriever(Protocol):
    """What every file in this package provides."""

    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def uses_vectors(self) -> bool:
        """Whether the embedder has any part in it; cells that differ in it alone are one."""
        ...

    def retrieve(self, questions: Sequence[str], index: Searchable, k: int) -> list[list[Hit]]:
        """Return at most `k` hits a question: no repeats, scores never rise, ties are stable.

        Only chunks that `index.allowed` has are hits.
        """
        ...


retrievers: Registry[Retriever] = Registry("retriever", __name__)


def _part(spec: Any) -> Any:
    """Return the spec of a retriever inside another as text; one that asks a model is refused."""
    part = retrievers.build(spec)
    if any("given" in field.metadata for field in fields(part)):  # type: ignore[arg-type]
        raise ValueError(
            f"{part.name!r} asks a chat model about the question, so it comes outermost: "
            f"write {part.name}(of=...), with what it is to search in its `of`"
        )
    return spec if isinstance(spec, str) else label(part)


Part = Annotated[str, BeforeValidator(_part, json_schema_input_type=str | dict[str, Any])]
"""A retriever inside another: `name(option=value, ...)`, or a mapping as at the top."""


class Wrapping:
    """What retrievers made of others share: the field `of`, a `Part` or several of them."""

    of: str | tuple[str, ...]

    def parts(self) -> list[Retriever]:
        """Return the retrievers that this one is made of."""
        return [retrievers.build(each) for each in _listed(self.of)]

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
            check(part, documents)


class Asking(Wrapping):
    """What retrievers share that ask a chat model for other texts to search for.

    Each has the fields named here. `prompt` is a file, or a text that has the place {question}; the
    run fills in `template`, the text of that file, and `chat`.
    """

    name: ClassVar[str]
    n: int
    prompt: str | None
    chat: ChatModel | None
    template: str | None

    def __post_init__(self) -> None:
        self._prompt()

    def identity(self) -> dict[str, Any]:
        """Return what `Wrapping` has, the chat model, and a hash of the prompt's text."""
        rest = {"prompt": fingerprint.fingerprint(self._prompt()), "template": None}
        return {**super().identity(), **rest}

    def check(self, documents: Mapping[str, Document] | None) -> None:
        """Raise what would stop every question: the chat model cannot be started, say."""
        self.asked_model().check()
        super().check(documents)

    def asked(self, question: str, read: Callable[[Reply], T], sample: int = 0) -> Wanted[T]:
        """Return what is to be asked about a question."""
        return Wanted(filled(self._prompt(), question=question, n=self.n), sample, read)

    def _prompt(self) -> str:
        inline = self.prompt if self.prompt is not None and "{" in self.prompt else None
        return rephrasing.template(self.name, self.template or inline)

    def fused(
        self, texts: Sequence[Sequence[str]], index: Searchable, depth: int, c: float
    ) -> list[list[Hit]]:
        """Return one ranking for each list of texts: what is found for them, fused by rank."""
        (part,) = self.parts()
        every = [text for each in texts for text in each]
        rankings = iter(part.retrieve(every, index, depth))
        return [fusion.by_rank([next(rankings) for _ in each], c) for each in texts]

    def asked_model(self) -> ChatModel:
        """Return the chat model; the run fills it in, or refuses the configuration."""
        assert self.chat is not None, f"{self.name!r} was built outside of a run"
        return self.chat


def check(retriever: Retriever, documents: Mapping[str, Document] | None) -> None:
    """Raise what would stop every question on these documents: an unknown field, say.

    `documents` is None where what is searched is a collection that was not read yet.
    """
    own = getattr(retriever, "check", None)
    if own is not None:
        own(documents)


def _listed(of: str | tuple[str, ...]) -> Iterator[str]:
    yield from (of,) if isinstance(of, str) else of
