"""Where a system of the user's own lost an answer, as far as can be seen from outside of it."""

from __future__ import annotations

from collections.abc import Sequence

from harness import spans
from harness.attribution import Lists, attribute
from harness.records import Attribution, Case, Span
from harness.relevance import folded


def attribution(case: Case, sent: str | None, answered: bool | None) -> Attribution:
    """Return where the answer was lost.

    All that the system retrieved counts. How it cuts its documents and how it searches them is not
    known: what it did not retrieve is lost at `retrieval`.

    Args:
        case: what it told.
        sent: the text that it says its model was sent; None where it says nothing of that.
        answered: whether its answer is right; None where nothing says what would be.
    """
    if not case.ranked:
        return Attribution()
    retrieved = [hit.chunk.span for hit in case.hits]
    prompt = retrieved if sent is None else _found(case, folded(sent))
    lost_at, arrivals = attribute(case, Lists(retrieved, prompt), answered, case.answers)
    return Attribution(lost_at, arrivals)


def _found(case: Case, sent: str) -> Sequence[Span]:
    """Return those parts of passages that were retrieved whose text stands in what was sent."""
    found: list[Span] = []
    for hit in case.hits:
        start = hit.chunk.span.start
        for passage in case.question.passages:
            for part in spans.shared(hit.chunk.span, [passage.span]):
                if folded(hit.chunk.text[part.start - start : part.end - start]) in sent:
                    found.append(part)
    return found
