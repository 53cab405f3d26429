"""What a system under test tells of one question, read from whatever it returned, and checked."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from harness.context import SEPARATOR
from harness.errors import StageError

T = TypeVar("T")

_LONGEST = 1_000_000
"""Characters that one text may have; more is no context and no answer."""
_MOST = 10_000
"""Contexts that one reply may have."""
_SHOWN = 60
_NULL = "answer is null"


@dataclass(frozen=True, slots=True)
class Context:
    """A text that the system retrieved.

    `ids` are the names it goes by, the most particular first; `start` is where in its document the
    system says it begins. Without a text it stands for the whole of the document that it names.
    """

    text: str
    ids: tuple[str, ...] = ()
    start: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What a system told of one question.

    `contexts`, best first, is None where it tells of none. `answer` is None where it gives none,
    and `lacking` says why where there is a place for it. `sent` is the text that its model was
    sent, where that is not the contexts.
    """

    contexts: tuple[Context, ...] | None = None
    answer: str | None = None
    lacking: str | None = None
    declined: bool | None = None
    sent: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None


def read(returned: Any) -> Told:
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
        return Told(answer=_text(returned, "the answer"))
    if isinstance(returned, tuple) and len(returned) == 2:
        documents, answer = returned
        read = _optional(answer, "the answer")
        return Told(_contexts(documents, "the documents"), read, _NULL if read is None else None)
    if isinstance(returned, Mapping):
        return _mapping(returned)
    if hasattr(returned, "content") and not hasattr(returned, "page_content"):
        return _message(returned)
    if isinstance(returned, Iterable) and not isinstance(returned, bytes):
        return Told(_contexts(returned, "the documents"))
    raise StageError(f"the system returned {_shown(returned)}: neither contexts nor an answer")


def joined(contexts: Sequence[Context] | None) -> str | None:
    """Return the text of contexts, as a prompt would have it; None where that is not told."""
    if contexts is None or not all(each.text for each in contexts):
        return None
    return SEPARATOR.join(each.text for each in contexts)


def _mapping(reply: Mapping[Any, Any]) -> Told:
    several = [key for key in ("contexts", "documents") if reply.get(key) is not None]
    if not several and "answer" not in reply:
        keys = ", ".join(map(repr, list(reply)[:10])) or "nothing"
        raise StageError(f"the reply has neither 'contexts' nor 'answer': it holds {keys}"[:300])
    answer = _optional(reply.get("answer"), "answer")
    return Told(
        None if not several else _contexts(reply[several[0]], several[0]),
        answer,
        _NULL if "answer" in reply and answer is None else None,
        _declined(reply.get("declined")),
        _optional(reply.get("context"), "context"),
        _count(reply.get("tokens_in"), "tokens_in"),
        _count(reply.get("tokens_out"), "tokens_out"),
        _optional(reply.get("model"), "model"),
    )


def _message(message: Any) -> Told:
    """Read a LangChain message: its content is a text, or a list of parts that `text` joins."""
    content = message.content if isinstance(message.content, str) else getattr(message, "text", 0)
    usage = getattr(message, "usage_metadata", None) or {}
    return Told(
        answer=_text(str(content) if isinstance(content, str) else content, "the message"),
        tokens_in=_count(usage.get("input_tokens"), "tokens_in"),
        tokens_out=_count(usage.get("output_tokens"), "tokens_out"),
    )


def _contexts(documents: Any, place: str) -> tuple[Context, ...]:
    if documents is None or isinstance(documents, str | bytes | Mapping):
        raise StageError(f"{place}: not a list of them, but {_shown(documents)}")
    if not isinstance(documents, Iterable):
        raise StageError(f"{place}: not a list of them, but {_shown(documents)}")
    found: list[Context] = []
    for at, document in enumerate(documents):
        if at == _MOST:
            raise StageError(f"{place}: there are more than {_MOST:,}")
        found.append(_context(document, f"{place}[{at}]"))
    return tuple(found)


def _context(document: Any, place: str) -> Context:
    if isinstance(document, str):
        return Context(_text(document, place))
    if isinstance(document, Mapping):
        keys = [key for key in ("text", "page_content") if key in document]
        about: Any = document.get("metadata") or {}
        own = document
    elif hasattr(document, "page_content"):
        own = {name: getattr(document, name, None) for name in ("page_content", "id")}
        keys, about = ["page_content"], getattr(document, "metadata", None) or {}
    else:
        raise StageError(f"{place} is {_shown(document)}: no text, mapping or document")
    if not isinstance(about, Mapping):
        raise StageError(f"{place}.metadata is {_shown(about)}, not a mapping")
    ids = [_id(own.get("id"), place), *(_hint(_id, about.get(key)) for key in ("id", "source"))]
    named = tuple(dict.fromkeys(each for each in ids if each is not None))
    if not keys and not named:
        raise StageError(f"{place} has neither `text` nor `id`")
    start = _count(own.get("start"), f"{place}.start")
    if start is None:
        start = _hint(_count, about.get("start_index", about.get("start")))
    return Context(
        _text(own[keys[0]], f"{place}.{keys[0]}") if keys else "",
        named,
        start,
        _score(own.get("score"), place),
    )


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise StageError(f"{place} is {_shown(value)}, not a text")
    if len(value) > _LONGEST:
        raise StageError(f"{place} has {len(value):,} characters, more than {_LONGEST:,}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise StageError(f"{place} holds half of a character, at {error.start}") from None
    return value


def _optional(value: Any, place: str) -> str | None:
    return None if value is None else _text(value, place)


def _id(value: Any, place: str) -> str | None:
    """Return an id as text; 0 is one, and an empty text is none."""
    if isinstance(value, UUID | os.PathLike):
        value = str(value)
    whole = _whole(value)
    return str(whole) if whole is not None else _optional(value, f"{place}.id") or None


def _hint(read: Callable[[Any, str], T | None], value: Any) -> T | None:
    """Return a value of a document's metadata as `read` has it; None where it makes no sense."""
    try:
        return read(value, "metadata")
    except StageError:
        return None


def _whole(value: Any) -> int | None:
    """Return a whole number, NumPy's too; None for anything else, and for true and false."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def _declined(value: Any) -> bool | None:
    if type(value).__name__ in ("bool_", "bool"):  # NumPy's is no bool, and has either name
        return bool(value)
    if value is not None:
        raise StageError(f"declined is {_shown(value)}, not true or false")
    return value


def _count(value: Any, place: str) -> int | None:
    if value is None:
        return None
    whole = _whole(value)
    if whole is None or not 0 <= whole < 1 << 53:
        raise StageError(f"{place} is {_shown(value)}, not a whole number from 0")
    return whole


def _score(value: Any, place: str) -> float | None:
    if value is None:
        return None
    # NumPy's numbers are numbers too.
    try:
        number = math.nan if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise StageError(f"{place}.score is {_shown(value)}, not a finite number")
    return number


def _shown(value: Any) -> str:
    """Return a value as errors name it, however large or ill-behaved it is."""
    if value is None:
        return "null"
    if isinstance(value, bool | int | float | str) and len(str(value)[: _SHOWN + 1]) <= _SHOWN:
        return ascii(value)
    return f"of type {type(value).__name__}"
