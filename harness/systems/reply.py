"""Parses and validates the reply of a system under test."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from harness import limits
from harness.errors import StageError
from harness.ranking.context import SEPARATOR

T = TypeVar("T")

_MAX_SHOWN_CHARS = 60
_NULL = "answer is null"


@dataclass(frozen=True, slots=True)
class RetrievedText:
    """A text that the system retrieved.

    `ids` are the names it goes by, the most particular first; `start` is where in its document the
    system says it begins. Without a text it stands for the whole of the document that it names.
    """

    text: str
    ids: tuple[str, ...] = ()
    start: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class SystemReply:
    """What a system told of one question.

    `contexts`, best first, is None where it tells of none. `answer` is None where it gives none,
    and `lacking` says why where there is a place for it. `sent` is the text that its model was
    sent, where that is not the contexts.
    """

    contexts: tuple[RetrievedText, ...] | None = None
    answer: str | None = None
    lacking: str | None = None
    declined: bool | None = None
    sent: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None


def parse_reply(returned: Any) -> SystemReply:
    """Return what a system told, read from what it returned.

    That is (documents, answer), a mapping with any of `contexts` (or `documents`), `answer`,
    `declined`, `context` (the text as sent), `tokens_in`, `tokens_out` and `model`, a list of
    documents, an answer, or a chat model's message. An answer of None, in a pair or a mapping, is
    lacking. What the `metadata` of a document holds is a hint of others: where it makes no sense,
    it is left out.

    Raises:
        StageError: it is something else, or a value in it is; the place is named.
    """
    if isinstance(returned, str):
        return SystemReply(answer=_check_text(returned, "the answer"))
    if isinstance(returned, tuple) and len(returned) == 2:
        documents, answer = returned
        text = _optional_text(answer, "the answer")
        return SystemReply(
            _read_contexts(documents, "the documents"), text, _NULL if text is None else None
        )
    if isinstance(returned, Mapping):
        return _read_mapping(returned)
    if hasattr(returned, "content") and not hasattr(returned, "page_content"):
        return _read_message(returned)
    if isinstance(returned, Iterable) and not isinstance(returned, bytes):
        return SystemReply(_read_contexts(returned, "the documents"))
    raise StageError(
        f"the system returned {_describe_value(returned)}: neither contexts nor an answer"
    )


def join_contexts(contexts: Sequence[RetrievedText] | None) -> str | None:
    """Return the text of contexts, as a prompt would have it; None where that is not told."""
    if contexts is None or not all(context.text for context in contexts):
        return None
    return SEPARATOR.join(context.text for context in contexts)


def _read_mapping(reply: Mapping[Any, Any]) -> SystemReply:
    several = [key for key in ("contexts", "documents") if reply.get(key) is not None]
    if not several and "answer" not in reply:
        keys = ", ".join(map(repr, list(reply)[:10])) or "nothing"
        raise StageError(
            f"the reply has neither 'contexts' nor 'answer': it holds {keys}"[
                : limits.MAX_ERROR_CHARS
            ]
        )
    answer = _optional_text(reply.get("answer"), "answer")
    return SystemReply(
        None if not several else _read_contexts(reply[several[0]], several[0]),
        answer,
        _NULL if "answer" in reply and answer is None else None,
        _read_declined(reply.get("declined")),
        _optional_text(reply.get("context"), "context"),
        _read_count(reply.get("tokens_in"), "tokens_in"),
        _read_count(reply.get("tokens_out"), "tokens_out"),
        _optional_text(reply.get("model"), "model"),
    )


def _read_message(message: Any) -> SystemReply:
    """Read a LangChain message: its content is a text, or a list of parts that `text` joins."""
    content = message.content if isinstance(message.content, str) else getattr(message, "text", 0)
    usage = getattr(message, "usage_metadata", None) or {}
    return SystemReply(
        answer=_check_text(str(content) if isinstance(content, str) else content, "the message"),
        tokens_in=_read_count(usage.get("input_tokens"), "tokens_in"),
        tokens_out=_read_count(usage.get("output_tokens"), "tokens_out"),
    )


def _read_contexts(documents: Any, place: str) -> tuple[RetrievedText, ...]:
    if documents is None or isinstance(documents, str | bytes | Mapping):
        raise StageError(f"{place}: not a list of them, but {_describe_value(documents)}")
    if not isinstance(documents, Iterable):
        raise StageError(f"{place}: not a list of them, but {_describe_value(documents)}")
    contexts: list[RetrievedText] = []
    for index, document in enumerate(documents):
        if index == limits.MAX_REPLY_CONTEXTS:
            raise StageError(f"{place}: there are more than {limits.MAX_REPLY_CONTEXTS:,}")
        contexts.append(_read_context(document, f"{place}[{index}]"))
    return tuple(contexts)


def _read_context(document: Any, place: str) -> RetrievedText:
    if isinstance(document, str):
        return RetrievedText(_check_text(document, place))
    if isinstance(document, Mapping):
        keys = [key for key in ("text", "page_content") if key in document]
        metadata: Any = document.get("metadata") or {}
        fields = document
    elif hasattr(document, "page_content"):
        fields = {name: getattr(document, name, None) for name in ("page_content", "id")}
        keys, metadata = ["page_content"], getattr(document, "metadata", None) or {}
    else:
        raise StageError(f"{place} is {_describe_value(document)}: no text, mapping or document")
    if not isinstance(metadata, Mapping):
        raise StageError(f"{place}.metadata is {_describe_value(metadata)}, not a mapping")
    ids = [
        _read_id(fields.get("id"), place),
        *(_read_hint(_read_id, metadata.get(key)) for key in ("id", "source")),
    ]
    names = tuple(dict.fromkeys(id_ for id_ in ids if id_ is not None))
    if not keys and not names:
        raise StageError(f"{place} has neither `text` nor `id`")
    start = _read_count(fields.get("start"), f"{place}.start")
    if start is None:
        start = _read_hint(_read_count, metadata.get("start_index", metadata.get("start")))
    return RetrievedText(
        _check_text(fields[keys[0]], f"{place}.{keys[0]}") if keys else "",
        names,
        start,
        _read_score(fields.get("score"), place),
    )


def _check_text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise StageError(f"{place} is {_describe_value(value)}, not a text")
    if len(value) > limits.MAX_REPLY_TEXT_CHARS:
        raise StageError(
            f"{place} has {len(value):,} characters, more than {limits.MAX_REPLY_TEXT_CHARS:,}"
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise StageError(f"{place} holds half of a character, at {error.start}") from None
    return value


def _optional_text(value: Any, place: str) -> str | None:
    return None if value is None else _check_text(value, place)


def _read_id(value: Any, place: str) -> str | None:
    """Return an id as text; 0 is one, and an empty text is none."""
    if isinstance(value, UUID | os.PathLike):
        value = str(value)
    whole = _as_integer(value)
    return str(whole) if whole is not None else _optional_text(value, f"{place}.id") or None


def _read_hint(read: Callable[[Any, str], T | None], value: Any) -> T | None:
    """Return a value of a document's metadata as `read` has it; None where it makes no sense."""
    try:
        return read(value, "metadata")
    except StageError:
        return None


def _as_integer(value: Any) -> int | None:
    """Return a whole number, NumPy's too; None for anything else, and for true and false."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def _read_declined(value: Any) -> bool | None:
    if type(value).__name__ in ("bool_", "bool"):  # NumPy's is no bool, and has either name
        return bool(value)
    if value is not None:
        raise StageError(f"declined is {_describe_value(value)}, not true or false")
    return value


def _read_count(value: Any, place: str) -> int | None:
    if value is None:
        return None
    whole = _as_integer(value)
    if whole is None or not 0 <= whole < 1 << 53:
        raise StageError(f"{place} is {_describe_value(value)}, not a whole number from 0")
    return whole


def _read_score(value: Any, place: str) -> float | None:
    if value is None:
        return None
    # NumPy's numbers are numbers too.
    try:
        number = math.nan if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise StageError(f"{place}.score is {_describe_value(value)}, not a finite number")
    return number


def _describe_value(value: Any) -> str:
    """Return a value as errors name it, however large or ill-behaved it is."""
    if value is None:
        return "null"
    if (
        isinstance(value, bool | int | float | str)
        and len(str(value)[: _MAX_SHOWN_CHARS + 1]) <= _MAX_SHOWN_CHARS
    ):
        return ascii(value)
    return f"of type {type(value).__name__}"
