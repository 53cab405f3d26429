"""LangChain: any text splitter of it or of a package for it, with the offsets that it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from harness.chunkers import ChunkerOptions, chunkers
from harness.errors import ModelError
from harness.models.langchain_class import LangChainClass
from harness.text.secrets import describe_error


@chunkers.register
@dataclass(frozen=True)
class LangChainSplitter(LangChainClass, ChunkerOptions):
    """The pieces of a LangChain `TextSplitter`, named as package.module:Class.

    `arguments` are what the class is made with. A splitter gives texts, and no places: each is
    looked for from the start of the one before, and ends behind it. A splitter that changes the
    text it cuts is refused. Where a text repeats itself within the overlap, its first place is
    taken.
    """

    name: ClassVar[str] = "langchain"
    version: ClassVar[int] = 1
    base: ClassVar[str] = "langchain_text_splitters.base:TextSplitter"

    def identity(self) -> dict[str, Any]:
        """Return name, version, parameters, the class's code and its library; make the class.

        Raises:
            SpecError: there is no such class.
            ModelError: it cannot be made.
        """
        self.made()
        return super().identity()

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the places of the pieces.

        Raises:
            ModelError: the class cannot be made, fails, or gives what does not stand in the text.
        """
        splitter = self.made()
        try:
            pieces = [piece for piece in splitter.split_text(text) if piece.strip()]
        except Exception as error:  # noqa: BLE001  each has errors of its own
            raise ModelError(f"{self.cls!r} failed: {describe_error(error)}") from None
        start = end = 0
        for piece in pieces:
            start = text.find(piece, max(start, end - len(piece) + 1))
            if start < 0:
                raise ModelError(
                    f"{self.cls!r} gave a piece that stands nowhere behind the one before: "
                    f"{piece[:60]!r}\n  a chunk is a place in its document: name a splitter, or "
                    "arguments, that change nothing in the text"
                )
            end = start + len(piece)
            yield start, end
