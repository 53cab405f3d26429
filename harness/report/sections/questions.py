"""Questions: the browser of all questions, and ten of them as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.records import Outcome, Span, StoredHit
from harness.report.browser_records import choose_first, count_going_on, describe_arrival
from harness.report.document import Block, Browser, Fold, Paragraph, Quotation
from harness.report.run_view import View
from harness.report.sections import section
from harness.runs.outcomes import held_sentence, span_key
from harness.text import numbers

_MAX_HITS = 3
_MAX_CHARACTERS = 240
"""Characters of a text that is quoted."""


@section("questions", 60, "Questions")
def blocks(view: View) -> Sequence[Block]:
    """Return the browser, with a fold for each of the ten to read."""
    records = choose_first(view)
    if not view.stored.records:
        return []
    if not records:
        return [Browser([])]
    names = {cell.name: view.name(cell) for cell in view.cells}
    count = numbers.count(len(records), "question")
    note = Paragraph(
        f"{count} to read with {names[records[0].cell]}: of each kind of loss in turn "
        f"that with the lowest {view.by}, then the lowest mean of the other quality metrics.",
        "note",
    )
    return [Browser([note, *(_fold(view, record) for record in records)])]


def _fold(view: View, record: Outcome) -> Fold:
    question = view.question(record)
    value = numbers.score(record.scores[view.by].value)
    labels = ", ".join(filter(None, [question.category, question.difficulty]))
    about = f" ({labels})" if labels else ""
    said = "Declined" if record.declined else "Answer"
    level = view.run.config.get("resolved", {}).get("relevance_level", 1)
    before = {span_key(hit): rank for rank, hit in enumerate(record.candidates, 1)}
    scores = [
        f"{name} {numbers.score(score.value)}"
        for name, score in record.scores.items()
        if score.value is not None
    ]
    blocks: list[Block] = [
        *_outcome(view, record),
        Quotation("Reference", _cut("\n".join(question.answers) or "no reference answer")),
        *([Quotation(said, _cut(record.answer))] if record.answers else []),
        *(
            Quotation(f"Evidence {passage.group}: {_place(passage.span)}", _cut(passage.text))
            for passage in question.passages[:_MAX_HITS]
        ),
        *(
            _hit(
                rank, hit, _cut(view.stored.texts[span_key(hit)]), before.get(span_key(hit)), level
            )
            for rank, hit in enumerate(record.hits[:_MAX_HITS], start=1)
        ),
        Paragraph(", ".join(scores) or "none", "note", "Scores"),
    ]
    return Fold(f"{question.id}: {_cut(question.text)}{about}; {view.by} {value}", blocks)


def _outcome(view: View, record: Outcome) -> Iterator[Paragraph | Quotation]:
    """Yield where the question failed, or was lost, and what is known of that."""
    if record.error is not None:
        reason = f"{record.error.stage}: {_cut(record.error.reason)}"
        yield Paragraph(reason, "warning", "Failed at")
    elif record.lost_at == "generation":
        yield Paragraph("generation: all evidence was in the prompt", label="Lost at")
        held_at = held_sentence(record)
        if held_at is not None:
            hit_index, start, end = held_at
            hit = record.hits[hit_index]
            text = view.stored.texts[span_key(hit)][start:end]
            yield Quotation(f"Held the answer, at rank {hit_index + 1}", _cut(text))
    elif record.lost_at not in (None, "none"):
        cell = next(cell for cell in view.cells if cell.name == record.cell)
        first = count_going_on(view, cell)
        facts = [
            describe_arrival(arrival, record.traced_to, first)
            for arrival in record.passages
            if arrival.stage == record.lost_at
        ]
        yield Paragraph(f"{record.lost_at}: {'; '.join(facts)}", label="Lost at")


def _hit(rank: int, hit: StoredHit, text: str, before: int | None, level: int) -> Quotation:
    relevant = hit.grade is not None and hit.grade >= level
    grade = "not judged" if hit.grade is None else f"grade {hit.grade}"
    moved = "" if before is None else f" ({before} before reranking)"
    return Quotation(
        f"Rank {rank}{moved}: {_place(hit)}, score {hit.score:.4f}, {grade}", text, relevant
    )


def _place(span: Span | StoredHit) -> str:
    return f"{span.doc} {span.start}–{span.end}"


def _cut(text: str | None) -> str:
    if not text:
        return numbers.MISSING
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]} …"
