"""An embedding class of LangChain: found by its dotted name, made once, and asked at a pace."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness import user_code
from harness.errors import MissingExtra, ModelError
from harness.models.retries import describe_wait, retrying
from harness.text import secrets
from harness.text.arguments import Arguments
from harness.text.secrets import describe_error

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

_SERVERS = ("openai_api_base", "azure_endpoint", "base_url", "endpoint_url")
_VARIABLES = ("OPENAI_API_BASE", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT")
"""Where OpenAI's library looks for a server that no argument names."""


@dataclass(frozen=True)
class RequestPace:
    """How many requests are begun in a minute (0: any number), and how often one is repeated."""

    per_minute: int
    retries: int


@dataclass
class OpenedClass:
    """A class made with its arguments, and what was seen of it since."""

    name: str
    model: Embeddings
    library: str
    server: str | None
    size: int | None = None
    next: float = 0.0

    def documents(self, texts: list[str], pace: RequestPace) -> NDArray[np.float64]:
        """Return the vectors of some documents [n, d], as the class gives them.

        Raises:
            ModelError: it gives up, or gives no proper vectors.
        """
        return self._vectors(partial(self.model.embed_documents, texts), len(texts), pace)

    def question(self, text: str, pace: RequestPace) -> NDArray[np.float64]:
        """Return the vector of a question [1, d], as the class gives it.

        Raises:
            ModelError: it gives up, or gives no proper vector.
        """
        return self._vectors(lambda: [self.model.embed_query(text)], 1, pace)

    def _vectors(
        self, ask: Callable[[], Any], number: int, pace: RequestPace
    ) -> NDArray[np.float64]:
        reply = self._reply(ask, pace)
        try:
            vectors = np.asarray(reply, dtype=np.float64)
        except (TypeError, ValueError):
            raise self._failed("gave vectors of different sizes, or no numbers") from None
        if vectors.ndim != 2 or len(vectors) != number or not vectors.shape[1]:
            raise self._failed(f"gave not one vector for each of {number} texts")
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite((vectors**2).sum()):
                raise self._failed("gave a vector that is not finite")
        self.size = self.size or vectors.shape[1]
        if vectors.shape[1] != self.size:
            raise self._failed(f"gave vectors of {vectors.shape[1]} numbers, and of {self.size}")
        return vectors

    def _reply(self, ask: Callable[[], Any], pace: RequestPace) -> Any:
        retry = retrying(pace.retries)

        def paced() -> Any:
            if pace.per_minute:
                time.sleep(max(0.0, self.next - time.monotonic()))
                self.next = time.monotonic() + 60 / pace.per_minute
            return ask()

        try:
            return retry(paced)
        except (Exception, SystemExit) as error:  # noqa: BLE001  every provider has its own
            made = retry.statistics["attempt_number"]
            message = f"gave up at request {made}: {describe_error(error)}{describe_wait(error)}"
            raise self._failed(message) from None

    def _failed(self, message: str) -> ModelError:
        return ModelError(
            f"embedder 'langchain': {self.name} {message}\n"
            "  what was embedded before is kept: the same command goes on from there"
        )


def open_class(name: str, arguments: Arguments) -> OpenedClass:
    """Return the class `name`, `package.module:Class`, made once with `arguments`.

    Raises:
        SpecError: there is no such class, or it is no embedding class of LangChain.
        ModelError: it cannot be made, or its server's URL holds a secret.
        MissingExtra: LangChain is not installed.
    """
    # The environment may name another server later.
    return _open_once(name, arguments, tuple(map(os.environ.get, _VARIABLES)))


@lru_cache(maxsize=16)
def _open_once(name: str, arguments: Arguments, servers: tuple[str | None, ...]) -> OpenedClass:
    try:
        from langchain_core.embeddings import Embeddings
    except ModuleNotFoundError as error:
        raise MissingExtra("embedder 'langchain'", str(error.name), "openai") from None
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
