"""What drafts ask for: the categories of the shipped test set, and how many there are of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import HarnessError, suggest

_UNANSWERABLE_SHARE = 0.125


@dataclass(frozen=True)
class Category:
    """A kind of question: the passages it is drafted from, each of another document."""

    name: str
    passages: int
    asks: str

    @property
    def answerable(self) -> bool:
        """Whether the corpus holds the answer."""
        return self is not UNANSWERABLE


UNANSWERABLE = Category("unanswerable", 1, "what the passage does not say")
CATEGORIES = (
    Category("direct_fact", 1, "one fact that the passage states"),
    Category("temporal", 1, "a date or an order: when something happens, or what comes before it"),
    Category("comparative", 2, "a difference: what is said of two things, set side by side"),
    Category("numerical", 1, "a figure: an amount, a number, a share or a limit"),
    Category("relationship", 2, "how two people, groups, products or events are linked"),
    Category("spanning", 2, "two facts that belong together, one of each passage"),
    Category("holistic", 3, "what all the passages have in common"),
    UNANSWERABLE,
)


def chosen(names: Sequence[str], documents: int) -> list[Category]:
    """Return the categories of these names, or all that `documents` documents are enough for.

    Raises:
        HarnessError: a name is unknown, or its questions need several documents and there is one.
    """
    known = {each.name: each for each in CATEGORIES}
    for name in names:
        if name not in known:
            raise HarnessError(f"unknown category {name!r}\n  {suggest(name, known)}")
        if known[name].passages > 1 and documents < 2:
            single = ", ".join(each.name for each in CATEGORIES if each.passages == 1)
            raise HarnessError(
                f"category {name!r} needs passages of two documents, and the corpus has one\n"
                f"  choose from: {single}"
            )
    wanted = [known[name] for name in dict.fromkeys(names)]
    return wanted or [each for each in CATEGORIES if each.passages == 1 or documents > 1]


def spread(n: int, categories: Sequence[Category]) -> list[Category]:
    """Return the category of each of `n` questions: one eighth unanswerable, the rest in turn."""
    others = [each for each in categories if each.answerable]
    if not others:
        return [UNANSWERABLE] * n
    none = round(_UNANSWERABLE_SHARE * n) if UNANSWERABLE in categories else 0
    every = n // none if none else 0
    slots: list[Category] = []
    for at in range(n):
        refused = slots.count(UNANSWERABLE)
        last = none and refused < none and (at + 1) % every == 0
        slots.append(UNANSWERABLE if last else others[(at - refused) % len(others)])
    return slots
