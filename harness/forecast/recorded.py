"""What a retriever would ask a model, noted without asking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from harness.chat import ChatModel
from harness.rephrasing import Wanted


def wordings(retriever: Any, texts: Sequence[str]) -> list[Wanted[Any]]:
    """Return all that a retriever asks its model of these questions."""
    recorder = _Recorder()
    with suppress(_RecordedError):
        retriever.texts(texts, recorder)
    return recorder.wanted


class _RecordedError(Exception):
    """All prompts are known; nothing is to be asked."""


class _Recorder:
    """Stands where a retriever looks for what it searches, and notes what it would ask."""

    def __init__(self) -> None:
        self.wanted: list[Wanted[Any]] = []

    def ask(self, chat: ChatModel, wanted: Iterable[Wanted[Any]]) -> NoReturn:
        self.wanted = list(wanted)
        raise _RecordedError
