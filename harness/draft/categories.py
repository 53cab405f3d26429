"""Categories of drafted questions, and how many questions of each to draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import HarnessError, suggest

_UNANSWERABLE_SHARE = 0.125


@dataclass(frozen=True)
class DraftCategory:
    """A kind of question: the passages it is drafted from, each of another document."""

    name: str
    passages: int
    asks: str

    @property
    def answerable(self) -> bool:
        """Whether the corpus holds the answer."""
        return self is not UNANSWERABLE


UNANSWERABLE = DraftCategory("unanswerable", 1, "what the passage does not say")
CATEGORIES = (
    DraftCategory("direct_fact", 1, "one fact that the passage states"),
    DraftCategory(
        "temporal", 1, "a date or an order: when something happens, or what comes before it"
    ),
    DraftCategory("comparative", 2, "a difference: what is said of two things, set side by side"),
    DraftCategory("numerical", 1, "a figure: an amount, a number, a share or a limit"),
    DraftCategory("relationship", 2, "how two people, groups, products or events are linked"),
    DraftCategory("spanning", 2, "two facts that belong together, one of each passage"),
    DraftCategory("holistic", 3, "what all the passages have in common"),
    UNANSWERABLE,
)


def choose_categories(names: Sequence[str], documents: int) -> list[DraftCategory]:
    """Return the categories of these names, or all that `documents` documents are enough for.

    Raises:
        HarnessError: a name is unknown, or its questions need several documents and there is one.
    """
    by_name = {category.name: category for category in CATEGORIES}
    for name in names:
        if name not in by_name:
            raise HarnessError(f"unknown category {name!r}\n  {suggest(name, by_name)}")
        if by_name[name].passages > 1 and documents < 2:
            single = ", ".join(category.name for category in CATEGORIES if category.passages == 1)
            raise HarnessError(
                f"category {name!r} needs passages of two documents, and the corpus has one\n"
                f"  choose from: {single}"
            )
    requested = [by_name[name] for name in dict.fromkeys(names)]
    return requested or [
        category for category in CATEGORIES if category.passages == 1 or documents > 1
    ]


def spread_categories(n: int, categories: Sequence[DraftCategory]) -> list[DraftCategory]:
    """Return the category of each of `n` questions: one eighth unanswerable, the rest in turn."""
    others = [category for category in categories if category.answerable]
    if not others:
        return [UNANSWERABLE] * n
    none = round(_UNANSWERABLE_SHARE * n) if UNANSWERABLE in categories else 0
    every = n // none if none else 0
    slots: list[DraftCategory] = []
    for position in range(n):
        refused = slots.count(UNANSWERABLE)
        last = none and refused < none and (position + 1) % every == 0
        slots.append(UNANSWERABLE if last else others[(position - refused) % len(others)])
    return slots
