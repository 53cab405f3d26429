"""Answers as labels: what can be said of one without a text to look for it in."""

from __future__ import annotations

from harness.relevance import folded

_YES_OR_NO = frozenset({"yes", "no"})


def is_yes_or_no(answer: str) -> bool:
    """Return whether an answer stands in too many texts by chance to say which is relevant."""
    return folded(answer).strip(" .!") in _YES_OR_NO
