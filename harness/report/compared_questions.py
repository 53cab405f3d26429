"""Questions that a comparison won or lost, with the hits and answers of both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from harness.comparison.compare_runs import ComparedCells, ComparedRuns
from harness.comparison.operand import Operand
from harness.comparison.paired_values import Gap
from harness.records import Outcome
from harness.report.document import Block, Fold, Heading, Paragraph, Quotation, TableBlock
from harness.text import numbers
from harness.text.escaping import shorten

MAX_QUESTIONS = 20
"""Questions lost, and won, that a page shows of one pair of cells."""
_MAX_HITS = 5
_MAX_NAME, _MAX_TEXT, _MAX_ANSWER, _MAX_QUESTION = 80, 240, 1_500, 400


def question_blocks(comparison: ComparedRuns, pair: ComparedCells) -> Iterator[Block]:
    """Yield the questions that one pair lost and won, the greatest changes first."""
    for gaps, outcome in ((pair.lost, "lost"), (pair.won, "won")):
        if not gaps:
            continue
        yield Heading(f"{numbers.count(len(gaps), 'question')} {outcome}", 3)
        if len(gaps) > MAX_QUESTIONS:
            by = shorten(comparison.by, _MAX_NAME)
            more = f"{len(gaps) - MAX_QUESTIONS:,} more {outcome}"
            yield Paragraph(f"The {MAX_QUESTIONS} greatest changes of {by}; {more}.", "note")
        for gap in gaps[:MAX_QUESTIONS]:
            yield _question(comparison, pair, gap)


def _question(comparison: ComparedRuns, pair: ComparedCells, gap: Gap) -> Fold:
    """Return one question: what both sides answered, and their first hits side by side."""
    stored = comparison.run.stored or comparison.baseline.stored
    line = None if stored is None else stored.questions[gap.question]
    category = comparison.run.questions[gap.question].category or ""
    answers = [] if line is None else [shorten(text, _MAX_QUESTION) for text in line.answers]
    wanted = f"wanted: {' / '.join(answers)}" if answers else ""
    about = [shorten(gap.question, _MAX_NAME), shorten(category, _MAX_NAME), wanted]
    names = ("Before", "After")
    values = [numbers.score(value, 2) for value in (gap.baseline, gap.run)]
    records = [
        _record(comparison.baseline, pair.pairing.baseline, gap.question),
        _record(comparison.run, pair.pairing.run, gap.question),
    ]
    contents: list[Block] = [Paragraph(" · ".join(filter(None, about)), "note")]
    hits = []
    sides = zip(names, values, records, (comparison.baseline, comparison.run), strict=True)
    for name, value, record, side in sides:
        if record is None:
            contents.append(
                Paragraph(f"{name} {value}: ranking and answer are not stored.", "note")
            )
        elif record.answer is not None:
            answer = shorten(record.answer, _MAX_ANSWER) or "(empty)"
            contents.append(Quotation(f"{name} {value}", answer))
        hits.append([] if record is None else _hits(side, record))
    if any(hits):
        rows = [
            [f"{rank}", *pair_of_hits]
            for rank, pair_of_hits in enumerate(zip_longest(*hits, fillvalue=""), start=1)
        ]
        contents.append(TableBlock(["Rank", *names], rows, "✓ is relevant", numeric=False))
    title = shorten(gap.question if line is None else line.text, _MAX_QUESTION)
    return Fold(f"{values[0]} → {values[1]} · {title}", contents)


def _record(side: Operand, cell: str, question: str) -> Outcome | None:
    return None if side.stored is None else side.stored.record(cell, question)


def _hits(side: Operand, record: Outcome) -> Sequence[str]:
    """Return the first hits of a ranking: the document, and how its text begins."""
    assert side.stored is not None
    texts = side.stored.texts
    return [
        f"{'✓ ' if hit.grade else ''}{shorten(hit.doc, _MAX_NAME)}: "
        f"{shorten(texts[hit.doc, hit.start, hit.end], _MAX_TEXT)}"
        for hit in (record.hits[:_MAX_HITS] if record.ranked else ())
    ]
