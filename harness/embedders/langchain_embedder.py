"""LangChain: any embedding class of a LangChain package, hosted or local."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from harness import user_code
from harness.embedders import embedders
from harness.embedders.shortening import to_unit_length
from harness.errors import ModelError
from harness.files.batches import batched
from harness.files.paths import make_portable
from harness.models.langchain_class import LangChainClass
from harness.models.retries import describe_wait, retrying
from harness.protocols import Embedder, TextKind, Vectors
from harness.text import secrets
from harness.text.arguments import Arguments
from harness.text.secrets import describe_error

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

_SERVERS = ("openai_api_base", "azure_endpoint", "base_url", "endpoint_url")
_VARIABLES = ("OPENAI_API_BASE", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT")
"""Where OpenAI's library looks for a server that no argument names."""


@embedders.register
@dataclass(frozen=True)
class LangChainEmbedder(LangChainClass, Embedder):
    """An embedding class of a LangChain package, by dotted name, with its arguments.

    `cls` is `package.module:Class`, and `arguments` are what it is made with; keys come from the
    environment, by the class's own variable. Chunks go to its `embed_documents`, `batch` at a
    time, and questions to its `embed_query`; no more than `per_minute` requests are started in a
    minute (0: no limit). A request that fails in a way that may pass is made again, `retries`
    times; a class that repeats requests too is configured not to, unless `arguments` name its
    `max_retries`. How much of a text the model reads is not known.
    """

    batch: Annotated[int, Ge(1)] = 64
    per_minute: Annotated[int, Ge(0)] = 0
    retries: Annotated[int, Ge(0)] = 3

    name: ClassVar[str] = "langchain"
    version: ClassVar[int] = 1
    base: ClassVar[str] = "langchain_core.embeddings.embeddings:Embeddings"

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text.

        Raises:
            SpecError: there is no such class.
            ModelError: the class cannot be made, or gives up, or gives no proper vectors.
        """
        if not texts:
            return self.embed([""], kind)[:0]
        opened = self._opened()
        # Hosted models refuse a text of no length.
        sent = [text or " " for text in texts]
        if kind == "query":
            batches, embed = [[text] for text in sent], lambda one: [opened.model.embed_query(*one)]
        else:
            batches, embed = list(batched(sent, self.batch)), opened.model.embed_documents
        parts = [self._ask(opened, partial(embed, batch), len(batch)) for batch in batches]
        return to_unit_length(np.concatenate(parts))

    def identity(self) -> dict[str, Any]:
        """Return the class, its arguments, its code, its library and the server it asks.

        Raises:
            SpecError: there is no such class.
            ModelError: the class cannot be made.
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
        # The environment may name another server later.
        variables = tuple(map(os.environ.get, _VARIABLES))
        return _open_class(f"{module}:{name}", Arguments(self.arguments), variables)

    def _ask(
        self, opened: OpenedClass, request: Callable[[], Any], count: int
    ) -> NDArray[np.float64]:
        """Return the vectors of `count` texts [count, d], as the class gives them."""
        retry = retrying(self.retries)

        def paced() -> Any:
            if self.per_minute:
                time.sleep(max(0.0, opened.next_request - time.monotonic()))
                opened.next_request = time.monotonic() + 60 / self.per_minute
            return request()

        try:
            reply = retry(paced)
        except (Exception, SystemExit) as error:  # noqa: BLE001  every provider has its own
            made = retry.statistics["attempt_number"]
            message = f"gave up at request {made}: {describe_error(error)}{describe_wait(error)}"
            raise _failure(opened, message) from None
        try:
            vectors = np.asarray(reply, dtype=np.float64)
        except (TypeError, ValueError):
            raise _failure(opened, "gave vectors of different sizes, or no numbers") from None
        if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1]:
            raise _failure(opened, f"gave not one vector for each of {count} texts")
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite((vectors**2).sum()):
                raise _failure(opened, "gave a vector that is not finite")
        opened.size = opened.size or vectors.shape[1]
        if vectors.shape[1] != opened.size:
            message = f"gave vectors of {vectors.shape[1]} numbers, and of {opened.size}"
            raise _failure(opened, message)
        return vectors


@dataclass
class OpenedClass:
    """A class made with its arguments, and what was seen of it since."""

    name: str
    model: Embeddings
    library: str
    server: str | None
    size: int | None = None
    next_request: float = 0.0


def _failure(opened: OpenedClass, message: str) -> ModelError:
    return ModelError(
        f"embedder 'langchain': {opened.name} {message}\n"
        "  what was embedded before is kept: the same command goes on from there"
    )


@lru_cache(maxsize=16)
def _open_class(name: str, arguments: Arguments, servers: tuple[str | None, ...]) -> OpenedClass:
    from langchain_core.embeddings import Embeddings

    kind = user_code.load(name, Embeddings)
    # Requests are repeated here, and not by the class too, unless its arguments say so.
    once = ("max_retries=0",) if "max_retries" in getattr(kind, "model_fields", ()) else ()
    model = user_code.make(name, (*once, *arguments), Embeddings)
    hosts = [getattr(model, field, None) for field in _SERVERS]
    hosts += servers if name.startswith("langchain_openai") else ()
    server = next((host for host in hosts if isinstance(host, str)), None)
    try:
        secrets.refuse_secret_in_query(server or "", "the URL of its server", secrets.KEY_REMEDY)
    except ValueError as error:
        raise ModelError(f"embedder 'langchain': {name}: {error}") from None
    return OpenedClass(name, model, user_code.distributions_of(name), server)
