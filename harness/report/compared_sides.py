"""Both sides of a comparison: what they took, where they lost, and single questions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from harness.comparison.compare_runs import ComparedCells, ComparedRuns
from harness.comparison.operand import Operand
from harness.comparison.paired_values import Gap
from harness.records import Outcome
from harness.report import loss_tables
from harness.report.document import Block, Fold, Paragraph, Quotation, TableBlock
from harness.report.run_view import View
from harness.store.cell_results import CellResult
from harness.text import numbers
from harness.text.escaping import shorten

_MAX_HITS = 5
_MAX_NAME, _MAX_HIT, _MAX_QUESTION, _MAX_ANSWER = 80, 240, 400, 1_500


def describe_sides(comparison: ComparedRuns, pair: ComparedCells) -> Iterator[Block]:
    """Yield what a question took on both sides, and where both lost their questions."""
    sides = [
        ("Before", comparison.baseline, pair.pairing.baseline),
        ("After", comparison.run, pair.pairing.run),
    ]
    columns = [list(_expenses(side, name)) for _, side, name in sides]
    head = ["Seconds, median", "Tokens, mean", "Money, mean"]
    head += ["Retrieval, mean", "Generation, mean", "Chunks", "Index recall"]
    rows = [
        [name, *texts]
        for name, *texts in zip(head, *columns, strict=True)
        if set(texts) != {numbers.MISSING}
    ]
    if rows:
        yield TableBlock(["What a question took", "Before", "After"], rows)
    stored = [
        (label, View(side.stored), cell)
        for label, side, name in sides
        if side.stored is not None and (cell := _stored_cell(side, name)) is not None
    ]
    if len(stored) == 2:
        yield from loss_tables.by_side(stored)


def _expenses(side: Operand, name: str) -> Iterator[str]:
    """Yield what a question took on one side, and how large and exact its index is."""
    cell, stored = side.cells[name], _stored_cell(side, name)
    tokens = cell.cost("tokens")
    prices = None if side.stored is None else side.stored.run.prices
    yield numbers.seconds(cell.cost("seconds"))
    yield numbers.MISSING if tokens is None else f"{tokens:,.0f}"
    yield numbers.money(cell.cost("money"), "" if prices is None else prices.currency).strip()
    for stage in ("retrieval", "generation"):
        yield numbers.seconds(None if stored is None else stored.seconds.get(stage))
    yield f"{stored.chunks:,}" if stored is not None and stored.chunks else numbers.MISSING
    recall = None if stored is None else stored.index_recall
    yield numbers.MISSING if recall is None else f"{numbers.score(recall.mean)} @{recall.k}"


def _stored_cell(side: Operand, name: str) -> CellResult | None:
    cells = () if side.stored is None else side.stored.run.cells
    return next((cell for cell in cells if cell.name == name), None)


def question_fold(comparison: ComparedRuns, pair: ComparedCells, gap: Gap) -> Fold:
    """Return one question: what both sides answered, and their first hits side by side."""
    stored = comparison.run.stored or comparison.baseline.stored
    question = None if stored is None else stored.questions[gap.question]
    category = comparison.run.questions[gap.question].category or ""
    answers = (
        [] if question is None else [shorten(text, _MAX_QUESTION) for text in question.answers]
    )
    wanted = f"wanted: {' / '.join(answers)}" if answers else ""
    about = [shorten(gap.question, _MAX_NAME), shorten(category, _MAX_NAME), wanted]
    contents: list[Block] = [Paragraph(" · ".join(filter(None, about)), "note")]
    values = [numbers.score(value, 2) for value in (gap.baseline, gap.run)]
    hits = []
    for label, side, cell in (
        (f"Before {values[0]}", comparison.baseline, pair.pairing.baseline),
        (f"After {values[1]}", comparison.run, pair.pairing.run),
    ):
        record = None if side.stored is None else side.stored.record(cell, gap.question)
        if record is None:
            contents.append(Paragraph(f"{label}: ranking and answer are not stored.", "note"))
        elif record.answer is not None:
            contents.append(Quotation(label, shorten(record.answer, _MAX_ANSWER) or "(empty)"))
        hits.append([] if record is None else _hits(side, record))
    if any(hits):
        rows = [[f"{rank}", *both] for rank, both in enumerate(zip_longest(*hits, fillvalue=""), 1)]
        head = ["Rank", "Before", "After"]
        contents.append(TableBlock(head, rows, "✓ is relevant", numeric=False))
    text = shorten(gap.question if question is None else question.text, _MAX_QUESTION)
    return Fold(f"{values[0]} → {values[1]} · {text}", contents)


def _hits(side: Operand, record: Outcome) -> list[str]:
    """Return the first hits of a ranking: the document, and how its text begins."""
    assert side.stored is not None
    texts = side.stored.texts
    return [
        f"{'✓ ' if hit.grade else ''}{shorten(hit.doc, _MAX_NAME)}: "
        f"{shorten(texts[hit.doc, hit.start, hit.end], _MAX_HIT)}"
        for hit in (record.hits[:_MAX_HITS] if record.ranked else ())
    ]
