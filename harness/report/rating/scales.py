"""What people rate, and what each grade means: on the page, word for word."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """What is asked, and what grades 0 to 3 are called."""

    key: str
    title: str
    asks: str
    grades: tuple[str, str, str, str]


CHUNK = Scale(
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
    Scale(
        "correctness",
        "Correctness",
        "Is what it says right, as far as the texts and what you know tell?",
        ("Wrong", "Mostly wrong", "Mostly right", "Right"),
    ),
    Scale(
        "directness",
        "Directness",
        "Does it answer what was asked, and without detours?",
        ("Beside the point", "Long detours", "Some detours", "To the point"),
    ),
    Scale(
        "completeness",
        "Completeness",
        "How much of what was asked does it answer?",
        ("Nothing", "A small part", "Most of it", "All of it"),
    ),
    Scale(
        "helpfulness",
        "Helpfulness",
        "Would it help the person who asked?",
        ("Useless", "Of little use", "Useful", "Very useful"),
    ),
)
OVERALL = Scale(
    "overall",
    "Overall",
    "All things considered, how good is the answer?",
    ("Poor", "Fair", "Good", "Excellent"),
)
