"""Asks an external system one question, and turns its reply into a case."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from harness.errors import HarnessError
from harness.ranking.context import SEPARATOR
from harness.ranking.relevance import fold, is_yes_or_no, judge_by_documents, occurs
from harness.records import Answer, Case, Chunk, Failure, Hit, Judged, Label, Question, Span
from harness.text.decline_patterns import is_decline

RagSystem = Callable[[str], Any]
"""Takes a question; returns the documents it retrieved, best first, and its answer."""
_REPLY_KEYS = (
    ("documents", "contexts", "context", "source_documents", "retrieved_contexts"),
    ("answer", "result", "response", "output"),
)
"""What the documents and the answer of a mapping or an object are called."""


def ask(rag_system: RagSystem, question: Question) -> Case:
    """Ask a system one question; an exception in it, or in its documents, is a failure.

    Raises:
        HarnessError: it returned something else than documents and an answer.
    """
    try:
        returned = rag_system(question.text)
        if inspect.isawaitable(returned):
            returned = _wait_for(returned)
    except Exception as error:  # noqa: BLE001  it is the system under test: any failure is its own
        return _failed_case(question, error)
    try:
        documents, answer = _unpack(returned)
    except TypeError as error:
        raise _reply_error(question, error) from None
    try:
        retrieved = None if documents is None else list(documents)  # a generator works only now
    except Exception as error:  # noqa: BLE001  likewise
        return _failed_case(question, error)
    try:
        hits = [_to_hit(rank, document) for rank, document in enumerate(retrieved or ())]
    except TypeError as error:
        raise _reply_error(question, error) from None
    return Case(
        question,
        tuple(hits),
        _judge_hits(question, hits),
        context=None if retrieved is None else SEPARATOR.join(hit.chunk.text for hit in hits),
        answer=None if answer is None else Answer(answer, declined=is_decline(answer)),
        keywords=_judge_by_keyword(question, hits),
        ranked=retrieved is not None,
    )


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """Return a loop that runs in a thread of its own: a notebook's is running already."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


def _wait_for(reply: Awaitable[Any]) -> Any:
    async def result() -> Any:
        return await reply

    return asyncio.run_coroutine_threadsafe(result(), _event_loop()).result()


def _unpack(returned: Any) -> tuple[Iterable[Any] | None, str | None]:
    """Return the documents of a reply, None where it tells none, and its answer.

    Raises:
        TypeError: it is none of the forms that a reply may have.
    """
    if isinstance(returned, tuple | list):
        if len(returned) != 2:
            raise TypeError(f"it returned {len(returned)} things")
        documents, answer = returned
        if isinstance(_text_of(documents), str) and not isinstance(answer, str | None):
            raise TypeError("it returned (answer, documents): the documents come first")
    elif isinstance(_text_of(returned), str):
        documents, answer = None, returned
    elif isinstance(returned, Mapping):
        documents, answer = (_first_of(returned.get, keys) for keys in _REPLY_KEYS)
    else:
        find = partial(getattr, returned)
        documents, answer = (_first_of(lambda key: find(key, None), keys) for keys in _REPLY_KEYS)
        if documents is answer is None:
            raise TypeError(f"it returned {type(returned).__name__}")
    if isinstance(documents, str | bytes | Mapping):
        raise TypeError(f"the documents are one {type(documents).__name__}, not a list")
    if documents is not None and not isinstance(documents, Iterable):
        raise TypeError(f"the documents are {type(documents).__name__}, not a list")
    text = _text_of(answer)
    if not isinstance(text, str | None):
        raise TypeError(f"the answer is {type(answer).__name__}, not a text or None")
    return documents, text


def _text_of(value: Any) -> Any:
    """Return the text of a chat model's message, and anything else as it is."""
    content = getattr(value, "content", None)
    return content if isinstance(content, str) else value


def _first_of(find: Callable[[str], Any], keys: Sequence[str]) -> Any:
    return next((value for value in map(find, keys) if value is not None), None)


def count_repeated(case: Case, kind: Label) -> int:
    """Return how many hits `kind` of label leaves out, as the same stands above them."""
    hits = case.hits
    by_id = kind == "documents"
    return len(hits) - len({hit.chunk.span.doc if by_id else hit.chunk.text for hit in hits})


def _failed_case(question: Question, error: Exception) -> Case:
    reason = f"{type(error).__name__}: {error}"
    return Case(question, judged=_judge_hits(question, ()), failure=Failure("retrieval", reason))


def _reply_error(question: Question, error: Exception) -> HarnessError:
    return HarnessError(
        f"question {question.id!r}: the system must return (documents, answer): {error}\n"
        "  a document is a text, a mapping with `id` and `text`, or has `page_content`; an answer "
        "alone will do, and a mapping or an object with `documents` and `answer`"
    )


def _to_hit(rank: int, document: Any) -> Hit:
    if isinstance(document, str):
        id_, text = document, document
    elif isinstance(document, Mapping):
        text = str(document.get("text") or document.get("page_content") or "")
        id_ = _first_id(document.get("id"), text)
    elif hasattr(document, "page_content"):
        text = str(document.page_content)
        about = getattr(document, "metadata", None) or {}
        id_ = _first_id(getattr(document, "id", None), about.get("id"), about.get("source"), text)
    else:
        raise TypeError(f"{type(document).__name__} is not a document")
    return Hit(Chunk(rank, Span(id_, 0, len(text)), text), score=-float(rank))


def _first_id(*ids: Any) -> str:
    """Return the first that is there; 0 is an id."""
    return str(next(id_ for id_ in ids if id_ is not None))


def _judge_hits(question: Question, hits: Sequence[Hit]) -> dict[Label, Judged]:
    """Judge by every label there is."""
    judged: dict[Label, Judged] = {}
    if question.documents is not None:
        judged["documents"] = judge_by_documents(question.documents, hits)
    strings: dict[Label, tuple[str, ...]] = {
        "answer": tuple(answer for answer in question.answers if not is_yes_or_no(answer)),
        "keywords": question.keywords,
    }
    texts = _folded_texts(hits)
    for kind, texts_of_kind in strings.items():
        if texts_of_kind:
            judged[kind] = _judge_by_strings(texts_of_kind, texts)
    return judged


def _judge_by_keyword(question: Question, hits: Sequence[Hit]) -> tuple[Judged, ...]:
    texts = _folded_texts(hits)
    return tuple(_judge_by_strings((keyword,), texts) for keyword in question.keywords)


def _folded_texts(hits: Sequence[Hit]) -> list[str]:
    """Return the folded texts, each once, at its first rank."""
    return [fold(text) for text in dict.fromkeys(hit.chunk.text for hit in hits)]


def _judge_by_strings(strings: Sequence[str], texts: Sequence[str]) -> Judged:
    """Judge by strings; without a corpus the inventory of texts is not known."""
    grades = tuple(int(any(occurs(string, text) for string in strings)) for text in texts)
    return Judged(grades, None)
