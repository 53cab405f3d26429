"""Measures how much of a question's gold passages the retrieved text covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt

from harness.records import Case, Hit, Passage, Span
from harness.text import spans, words


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
        remaining = self.budget
        for hit in hits:
            if remaining == 0:
                return read, ""
            text, used = words.cut(hit.chunk.text, remaining)
            remaining -= used
            span = hit.chunk.span
            read.append(Span(span.doc, span.start, span.start + len(text)))
        return read, f"ran out at {self.budget - remaining} tokens" if remaining else ""


def passage_groups(case: Case) -> Mapping[str, list[Passage]]:
    """Return the question's passages by group: those of one group are alternatives."""
    by_group: dict[str, list[Passage]] = {}
    for passage in case.question.passages:
        by_group.setdefault(passage.group, []).append(passage)
    return by_group


def gold_spans(case: Case, read: Sequence[Span]) -> list[Span]:
    """Return the gold characters: of each group the alternative that `read` covers best.

    Of alternatives covered alike, the first one the test set names.
    """
    covered = spans.union(read)

    def share(passage: Passage) -> float:
        length = passage.span.end - passage.span.start
        return spans.count_characters(spans.intersect(passage.span, covered)) / length

    return spans.union(
        (max(group, key=share) if len(group) > 1 else group[0]).span
        for group in passage_groups(case).values()
    )


def covered_share(passage: Passage, covered: Sequence[Span]) -> float:
    """Return the share of a passage's visible characters that `covered` (disjoint) holds."""
    parts = spans.intersect(passage.span, covered)
    if not parts:
        return 0.0
    if parts[0] == passage.span:
        return float(bool(passage.text.strip()))
    start = passage.span.start
    visible = sum(
        spans.count_visible(passage.text[part.start - start : part.end - start]) for part in parts
    )
    return visible / spans.count_visible(passage.text) if visible else 0.0


def count_whole_groups(case: Case, read: Iterable[Span], share: float) -> int:
    """Return how many groups have a passage that is whole in `read`."""
    covered = spans.union(read)
    return sum(
        any(covered_share(p, covered) >= share for p in group)
        for group in passage_groups(case).values()
    )
