"""When an answer is a decline, for systems that do not say so themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

DECLINES = (
    r"^\W*(?:sorry[,.]?\s+)?i (?:do not|don't) know\b",
    r"^\W*(?:the (?:provided )?(?:context|documents?) (?:does|do) not|there is no information)\b",
    r"^\W*i (?:cannot|can't|am unable to) (?:answer|find)\b",
)


def checked(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return patterns as they are.

    Raises:
        ValueError: one is no regular expression, or repeats without end what is itself repeated
            without end, as `(a+)+`: one answer could hold a run up for ever.
    """
    for pattern in patterns:
        try:
            re.compile(pattern)
            endless = _runs_away(_parser.parse(pattern))
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"{pattern!r}: {error}") from None
        if endless:
            raise ValueError(
                f"{pattern!r} repeats a repeat, and may never end: write (a+)+ as a+, or (a+ )+"
            )
    return patterns


def is_decline(answer: str, patterns: Sequence[str] = DECLINES) -> bool:
    """Return whether `answer` is empty or matches a pattern (letter case ignored)."""
    plain = answer.strip().replace("\u2019", "'")
    return not plain or any(re.search(each, plain, re.IGNORECASE) for each in patterns)


_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)


def _runs_away(parts: Any) -> bool:
    """Return whether some endless repeat holds nothing that must be there but an endless repeat."""
    for kind, held in parts:
        inner = _inner(kind, held)
        if any(map(_runs_away, inner)):
            return True
        if kind in _REPEATS and held[1] is _constants.MAXREPEAT and any(map(_is_endless, inner)):
            return True
    return False


def _is_endless(parts: Any) -> bool:
    """Return whether an endless repeat is all that `parts` must match."""
    needed = [each for each in parts if not _may_be_empty(*each)]
    return len(needed) < 2 and any(
        (kind in _REPEATS and held[1] is _constants.MAXREPEAT)
        or any(map(_is_endless, _inner(kind, held)))
        for kind, held in needed or parts
    )


def _may_be_empty(kind: Any, held: Any) -> bool:
    return (kind in _REPEATS and held[0] == 0) or kind in (_constants.AT, _constants.ASSERT_NOT)


def _inner(kind: Any, held: Any) -> list[Any]:
    """Return the parts that one part of a pattern holds: one list, or one an alternative."""
    if kind is _constants.BRANCH:
        return list(held[1])
    if kind in (*_REPEATS, _constants.SUBPATTERN):
        return [held[-1]]
    return [held[1]] if kind in (_constants.ASSERT, _constants.ASSERT_NOT) else []
