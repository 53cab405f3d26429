"""Which gold labels a question carries."""

from __future__ import annotations

from harness.records import Label, Question


def has(question: Question, kind: Label) -> bool:
    """Return whether a question carries a kind of label."""
    return {
        "evidence": bool(question.passages),
        "documents": question.documents is not None,
        "answer": bool(question.answers),
        "keywords": bool(question.keywords),
    }[kind]
