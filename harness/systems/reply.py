"""Parses and validates the reply of a system under test."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    Strict,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

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
    """A system's reply to one question.

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


def _to_plain(value: Any) -> Any:
    """Return a number of NumPy's as Python's own, and any other value as it is."""
    return value.item() if hasattr(value, "dtype") and hasattr(value, "item") else value


def _to_id(value: Any) -> Any:
    """Return an id as text; 0 is one, and an empty text is none."""
    value = _to_plain(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    value = str(value) if whole or isinstance(value, UUID | os.PathLike) else value
    return None if value == "" else value


def _to_context(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


Plain = BeforeValidator(_to_plain)
Text = Annotated[str, Strict(), StringConstraints(max_length=limits.MAX_REPLY_TEXT_CHARS)]
Id = Annotated[Text | None, BeforeValidator(_to_id)]
Count = Annotated[int, Strict(), Field(ge=0, lt=1 << 53), Plain]
Number = Annotated[FiniteFloat, Strict(), Plain]
Flag = Annotated[bool, Strict(), Plain]


class _Context(BaseModel):
    """A document of LangChain's, a mapping with its keys, or a text alone."""

    model_config = ConfigDict(from_attributes=True)

    text: Text | None = Field(None, validation_alias=AliasChoices("text", "page_content"))
    id: Id = None
    start: Count | None = None
    score: Number | None = None
    metadata: Mapping[Any, Any] | None = None

    def names(self) -> tuple[str, ...]:
        """Return the names it goes by; what `metadata` holds is a hint, and may be anything."""
        hints = self.metadata or {}
        ids = (self.id, _read_hint(_IDS, hints.get("id")), _read_hint(_IDS, hints.get("source")))
        return tuple(dict.fromkeys(name for name in ids if name is not None))

    def retrieved(self) -> RetrievedText:
        """Return the text with its names and its place."""
        hints, start = self.metadata or {}, self.start
        if start is None:
            start = _read_hint(_COUNTS, hints.get("start_index", hints.get("start")))
        return RetrievedText(self.text or "", self.names(), start, self.score)


class _Reply(BaseModel):
    contexts: (
        Annotated[
            list[Annotated[_Context, BeforeValidator(_to_context)]],
            Field(max_length=limits.MAX_REPLY_CONTEXTS),
        ]
        | None
    ) = None
    answer: Text | None = None
    declined: Flag | None = None
    context: Text | None = None
    tokens_in: Count | None = None
    tokens_out: Count | None = None
    model: Text | None = None


_IDS: TypeAdapter[str | None] = TypeAdapter(Id)
_COUNTS: TypeAdapter[int] = TypeAdapter(Count)


def parse_reply(returned: Any) -> SystemReply:
    """Return a system's reply, read from what it returned.

    That is (documents, answer), a mapping with any of `contexts` (or `documents`), `answer`,
    `declined`, `context` (the text as sent), `tokens_in`, `tokens_out` and `model`, a list of
    documents, an answer, or a chat model's message. An answer of None, in a pair or a mapping, is
    lacking. What the `metadata` of a document holds is a hint of others: where it makes no sense,
    it is left out.

    Raises:
        StageError: it is something else, or a value in it is; the place is named.
    """
    fields = _to_fields(returned)
    try:
        reply = _Reply.model_validate(fields)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        keys = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in fault["loc"])
        place = "".join(keys).removeprefix(".")
        message = f"{place} is {_describe_value(fault['input'])}: {fault['msg']}"
        raise StageError(message) from None
    for number, context in enumerate(reply.contexts or ()):
        if context.text is None and not context.names():
            raise StageError(f"contexts[{number}] has neither `text` nor `id`")
    lacking = _NULL if "answer" in fields and reply.answer is None else None
    return SystemReply(
        None if reply.contexts is None else tuple(map(_Context.retrieved, reply.contexts)),
        reply.answer,
        lacking,
        reply.declined,
        reply.context,
        reply.tokens_in,
        reply.tokens_out,
        reply.model,
    )


def _to_fields(returned: Any) -> dict[str, Any]:
    """Return what was returned, in any of its forms, by the names of a reply."""
    if isinstance(returned, str):
        return {"answer": returned}
    if isinstance(returned, tuple) and len(returned) == 2:
        documents, answer = returned
        if documents is None:
            raise StageError("contexts is null: Input should be a valid list")
        return {"contexts": _to_list(documents), "answer": answer}
    if isinstance(returned, Mapping):
        several = [key for key in ("contexts", "documents") if returned.get(key) is not None]
        if not several and "answer" not in returned:
            keys = ", ".join(map(repr, list(returned)[:10])) or "nothing"
            message = f"the reply has neither 'contexts' nor 'answer': it holds {keys}"
            raise StageError(message[: limits.MAX_ERROR_CHARS])
        return {**returned, "contexts": _to_list(returned[several[0]]) if several else None}
    if hasattr(returned, "content") and not hasattr(returned, "page_content"):
        # A message: its content is a text, or a list of parts that `text` joins.
        content = returned.content
        usage = getattr(returned, "usage_metadata", None) or {}
        return {
            "answer": content if isinstance(content, str) else getattr(returned, "text", 0),
            "tokens_in": usage.get("input_tokens"),
            "tokens_out": usage.get("output_tokens"),
        }
    if isinstance(returned, Iterable) and not isinstance(returned, bytes):
        return {"contexts": _to_list(returned)}
    raise StageError(
        f"the system returned {_describe_value(returned)}: neither contexts nor an answer"
    )


def _to_list(documents: Any) -> Any:
    """Return any iterable of documents as a list, read no further than a reply may have."""
    if isinstance(documents, str | bytes | Mapping) or not isinstance(documents, Iterable):
        return documents
    return list(islice(documents, limits.MAX_REPLY_CONTEXTS + 1))


def join_contexts(contexts: Sequence[RetrievedText] | None) -> str | None:
    """Return the text of contexts, as a prompt would have it; None where that is not reported."""
    if contexts is None or not all(context.text for context in contexts):
        return None
    return SEPARATOR.join(context.text for context in contexts)


def _read_hint(adapter: TypeAdapter[T], value: Any) -> T | None:
    try:
        return None if value is None else adapter.validate_python(value)
    except ValidationError:
        return None


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
