"""The rating scales of a form: questions and grade labels, as the page shows them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RatingScale:
    """What is asked, and what grades 0 to 3 are called."""

    key: str
    title: str
    asks: str
    grades: tuple[str, str, str, str]


CHUNK = RatingScale(
    "chunk",
    "Each text",
    "Would it help to answer the question?",
    ("Not relevant", "Marginal", "Relevant", "Highly relevant"),
)
CHUNK_MEANINGS = (
    "has nothing to do with the question",
    "is about the same subject, and answers nothing",
    "holds a part of the answer",
    "holds the answer",
)
ANSWER = (
    RatingScale(
        "correctness",
        "Correctness",
        "Is what it says right, as far as the texts and what you know tell?",
        ("Wrong", "Mostly wrong", "Mostly right", "Right"),
    ),
    RatingScale(
        "directness",
        "Directness",
        "Does it answer what was asked, and without detours?",
        ("Beside the point", "Long detours", "Some detours", "To the point"),
    ),
    RatingScale(
        "completeness",
        "Completeness",
        "How much of what was asked does it answer?",
        ("Nothing", "A small part", "Most of it", "All of it"),
    ),
    RatingScale(
        "helpfulness",
        "Helpfulness",
        "Would it help the person who asked?",
        ("Useless", "Of little use", "Useful", "Very useful"),
    ),
)
OVERALL = RatingScale(
    "overall",
    "Overall",
    "All things considered, how good is the answer?",
    ("Poor", "Fair", "Good", "Excellent"),
)
