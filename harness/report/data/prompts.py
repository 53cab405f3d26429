"""Contexts, prompts and what held the answer in them, told by the texts that they are made of."""

from __future__ import annotations

from collections.abc import Mapping

from harness.context import SEPARATOR
from harness.lines import SpanKey
from harness.stored import RecordLine


def context(record: RecordLine, texts: Mapping[SpanKey, str]) -> tuple[int, int] | str | None:
    """Return how many hits the context has, and how many characters of the last; else its text."""
    if record.context is None:
        return None
    at = 0
    for count, hit in enumerate(record.hits, start=1):
        text = texts[(hit.doc, hit.start, hit.end)]
        if text.startswith(record.context[at:]):
            return count, len(record.context) - at
        if not record.context.startswith(text + SEPARATOR, at):
            break
        at += len(text) + len(SEPARATOR)
    return record.context


def around(record: RecordLine) -> tuple[str, ...] | None:
    """Return the prompt before and after the context; as it is where that is not in it."""
    if record.prompt is None:
        return None
    if not record.context:
        return (record.prompt,)
    return tuple(record.prompt.split(record.context, 1))


def held(record: RecordLine) -> tuple[int, int, int] | None:
    """Return the first hit with the sentence that held the answer: its number, from 0, and where.

    The sentence is the characters of the hit's text from the second number up to the third.
    """
    found = record.held_in
    for at, hit in enumerate(record.hits if found is not None else ()):
        assert found is not None
        if hit.doc == found.doc and hit.start <= found.start and found.end <= hit.end:
            return at, found.start - hit.start, found.end - hit.start
    return None
