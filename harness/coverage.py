"""How much of a question's gold passages some retrieved text covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt

from harness import spans, tokens
from harness.records import Case, Hit, Passage, Span


@dataclass(frozen=True)
class Cutoff:
    """Which part of the ranking is read: its first `k` chunks, or its first `budget` tokens.

    With a token budget the ranked text is read until the budget is spent and the last chunk is
    cut there, so that every chunker is given exactly as much.
    """

    k: Annotated[int, Gt(0)] | None = None
    budget: Annotated[int, Gt(0)] | None = None

    def __post_init__(self) -> None:
        if (self.k is None) == (self.budget is None):
            raise ValueError("a cut-off is needed: @5 (chunks) or @1000t (tokens)")

    def read(self, hits: Sequence[Hit]) -> tuple[list[Span], str]:
        """Return the span of each chunk that is read, best first, and a note where they ran out."""
        if self.budget is None:
            return [hit.chunk.span for hit in hits[: self.k]], ""
        read: list[Span] = []
        left = self.budget
        for hit in hits:
            if left == 0:
                return read, ""
            text, used = tokens.cut(hit.chunk.text, left)
            left -= used
            span = hit.chunk.span
            read.append(Span(span.doc, span.start, span.start + len(text)))
        return read, f"ran out at {self.budget - left} tokens" if left else ""


def groups(case: Case) -> Mapping[str, list[Passage]]:
    """Return the question's passages by group: those of one group are alternatives."""
    found: dict[str, list[Passage]] = {}
    for passage in case.question.passages:
        found.setdefault(passage.group, []).append(passage)
    return found


def gold(case: Case, read: Sequence[Span]) -> list[Span]:
    """Return the gold characters: of each group the alternative that `read` covers best.

    Of alternatives covered alike, the first one the test set names.
    """
    covered = spans.union(read)

    def share(passage: Passage) -> float:
        length = passage.span.end - passage.span.start
        return spans.size(spans.shared(passage.span, covered)) / length

    return spans.union(max(each, key=share).span for each in groups(case).values())


def held(passage: Passage, covered: Sequence[Span]) -> float:
    """Return the share of a passage's visible characters that `covered` (disjoint) holds."""
    seen = sum(
        spans.visible(passage.text[part.start - passage.span.start : part.end - passage.span.start])
        for part in spans.shared(passage.span, covered)
    )
    return seen / spans.visible(passage.text) if seen else 0.0


def whole_groups(case: Case, read: Iterable[Span], share: float) -> int:
    """Return how many groups have a passage that is whole in `read`."""
    covered = spans.union(read)
    return sum(any(held(p, covered) >= share for p in each) for each in groups(case).values())
