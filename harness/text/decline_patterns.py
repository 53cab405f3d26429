"""Patterns that recognise an answer as a decline, for systems that do not report it."""

from __future__ import annotations

import re
from collections.abc import Sequence

DECLINES = (
    r"^\W*(?:sorry[,.]?\s+)?i (?:do not|don't) know\b",
    r"^\W*(?:the (?:provided )?(?:context|documents?) (?:does|do) not|there is no information)\b",
    r"^\W*i (?:cannot|can't|am unable to) (?:answer|find)\b",
)


def check_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return patterns as they are.

    Raises:
        ValueError: one is no regular expression.
    """
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"{pattern!r}: {error}") from None
    return patterns


def is_decline(answer: str, patterns: Sequence[str] = DECLINES) -> bool:
    """Return whether `answer` is empty or matches a pattern (letter case ignored)."""
    plain = answer.strip().replace("\u2019", "'")
    return not plain or any(re.search(pattern, plain, re.IGNORECASE) for pattern in patterns)
