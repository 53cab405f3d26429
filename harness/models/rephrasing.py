"""Prompts that turn a question into other texts to search for, and how replies are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from harness import limits
from harness.errors import StageError
from harness.models.chat.settings import ChatReply

T = TypeVar("T")
_MARK = re.compile(r"\s*(?:[-*•–—]+|\(?[Qq]?\d{1,2}[.):]+)\s+")
_CUT = ("length", "max_tokens")
"""How providers say that a reply ran out of tokens."""
_QUOTES = "\"'`*“”„«»_ \t"


@dataclass(frozen=True)
class PromptRequest(Generic[T]):
    """A prompt, the number of the sample, and what makes of the reply what is wanted of it.

    `read` raises `StageError` for a reply that cannot be used.
    """

    prompt: str
    sample: int
    read: Callable[[ChatReply], T]


def parse_lines(reply: ChatReply, n: int, known: str = "") -> tuple[str, ...]:
    """Return the first `n` different lines of a reply, numbers, bullets and quotes taken off.

    Left out are lines without a letter or digit, those that end in a colon, which announce what
    follows, and what is `known`; and of a reply that ran out of tokens the last line.

    Raises:
        StageError: nothing is left.
    """
    reply_lines = reply.text.splitlines()
    if (reply.finish or "").lower() in _CUT:
        reply_lines = reply_lines[:-1]
    texts: dict[str, str] = {}
    for line in reply_lines:
        text = _MARK.sub("", line, count=1).strip(_QUOTES)
        if any(map(str.isalnum, text)) and not text.endswith(":"):
            texts.setdefault(text.casefold(), text)
    texts.pop(known.strip().casefold(), None)
    if not texts:
        quote = reply.text[: limits.MAX_REPLY_QUOTE_CHARS]
        raise StageError(f"the chat model's reply holds no line to search for: {quote!r}")
    return tuple(texts.values())[:n]


def parse_passage(reply: ChatReply) -> str:
    """Return the text of a reply on one line.

    Raises:
        StageError: it has no letter and no digit.
    """
    text = " ".join(reply.text.split())
    if not any(map(str.isalnum, text)):
        quote = reply.text[: limits.MAX_REPLY_QUOTE_CHARS]
        raise StageError(f"the chat model's reply holds no passage: {quote!r}")
    return text
