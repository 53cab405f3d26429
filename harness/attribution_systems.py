"""Where a system of the user's own lost an answer, as far as can be seen from outside of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness import spans
from harness.attribution import Lists, attribute
from harness.holding import held_in
from harness.records import Attribution, Case, Span
from harness.relevance import folded
from harness.sentences import sentences


def attribution(
    case: Case, sent: str | None, answered: bool | None, by_keywords: bool = True
) -> Attribution:
    """Return where the answer was lost, and which sentence held it.

    All that the system retrieved counts. How it cuts its documents and how it searches them is not
    known: what it did not retrieve is lost at `retrieval`.

    Args:
        case: what it told.
        sent: the text that it says its model was sent; None where it says nothing of that.
        answered: whether its answer is right; None where nothing says what would be.
        by_keywords: whether that was told by keywords where the question has them.
    """
    if not case.ranked:
        return Attribution()
    retrieved = [hit.chunk.span for hit in case.hits]
    read = None if sent is None else folded(sent)
    prompt = retrieved if read is None else _found(case, read)
    lost_at, arrivals = attribute(case, Lists(retrieved, prompt), answered, case.answers)
    sentence = held_in(case.question, _parts(case, read), by_keywords)
    return Attribution(lost_at, arrivals, held_in=sentence)


def _parts(case: Case, sent: str | None) -> Iterator[tuple[Span, str]]:
    """Yield what was retrieved; of what was `sent`, those sentences that stand in it."""
    for hit in case.hits:
        place, text = hit.chunk.span, hit.chunk.text
        if sent is None:
            yield place, text
            continue
        for start, end in sentences(text):
            if folded(text[start:end]) in sent:
                yield Span(place.doc, place.start + start, place.start + end), text[start:end]


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
