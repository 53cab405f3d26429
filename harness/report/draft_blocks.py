"""Blocks on what drafting of questions came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from harness.draft import WrittenDrafts
from harness.draft.drafter import MAX_TRIES, REASONS
from harness.report.document import Block, Fold, Items, Paragraph
from harness.text import numbers


def written(result: WrittenDrafts) -> Iterator[Block]:
    """Yield what was made, what was dropped and why, and what is left to do."""
    drafts, dropped = result.drafts.in_order(), result.drafts.dropped
    counts = Counter(draft.question.category for draft in drafts)
    target = numbers.count(result.drafts.target, "question")
    yield Paragraph(f"{len(drafts):,} of {target} drafted by {result.by}: {result.path}", "path")
    if counts:
        yield Paragraph(", ".join(f"{name} {count:,}" for name, count in counts.items()))
    asked = numbers.count(result.drafts.tried, "draft")
    reasons = [f"{dropped[key]:,} {text}" for key, text in REASONS.items() if dropped[key]]
    yield Fold(f"{asked} asked for, {sum(dropped.values()):,} dropped", [Items(reasons)])
    if len(drafts) < result.drafts.target:
        yield Paragraph(f"at most {MAX_TRIES} passages are tried for a question, and none twice")
    yield Paragraph("Read them, change or delete what is wrong, then accept them:")
    yield Paragraph(f"python -m harness draft accept {result.path} --all", "path")
