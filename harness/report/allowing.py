"""What each chunker allows, whatever is retrieved, as a report shows it."""

from __future__ import annotations

from collections.abc import Iterator

from harness import scoring
from harness.lines import question
from harness.numbers import count
from harness.numbers import score as written
from harness.records import Case, Chunk, Failure, Hit, Span
from harness.report.blocks import Block, Cell, Table, Text
from harness.report.phrases import measure
from harness.report.view import View
from harness.statistics.aggregate import Aggregate, aggregate
from harness.stored import CeilingLine, CellLine, RecordLine


def blocks(view: View) -> Iterator[Block]:
    """Yield what the best chunks of each chunker would hold, and what was found of it."""
    lines = [each for each in view.run.ceilings if each.evidence_recall.mean is not None]
    if not lines:
        return
    ranked = [cell.chunker for cell in view.cells]
    lines.sort(key=lambda each: ranked.index(each.chunker))
    k = lines[0].k
    best = {
        each.chunker: next(cell for cell in view.cells if cell.chunker == each.chunker)
        for each in lines
    }
    found = {each.chunker: _found(view, best[each.chunker], k) for each in lines}
    shown = None if view.focus is None else view.focus.chunker
    first = next((each for each in lines if each.chunker == shown), lines[0])
    yield Text(_said(first, found[first.chunker]))
    head = ["Chunker", "n", f"Any {count(k, 'chunk')}", "As retrieved", "Chunk ceiling"]
    notes = ["", "", f"evidence_ceiling@{k}", f"evidence_recall@{k} of the best cell", ""]
    rows: list[list[Cell]] = [
        [
            each.chunker,
            f"{each.evidence_recall.n:,}",
            measure(each.evidence_recall),
            measure(found[each.chunker]),
            measure(each.chunk_ceiling),
        ]
        for each in lines
    ]
    caption = "What each chunker allows: share of the evidence's characters, and precision"
    yield Table(head, rows, caption, notes, cards=True)
    yield Text(
        f"Any {count(k, 'chunk')}: the most of a question's evidence that so many could hold, "
        "whichever they are. Chunk ceiling: the precision of a retriever that finds all evidence. "
        "A chunker with a parent is measured by the chunks that are handed over.",
        "note",
    )


def _said(line: CeilingLine, found: Aggregate) -> str:
    most = written(line.evidence_recall.mean, 2)
    reached = written(found.mean, 2)
    return (
        f"With {line.chunker}, {count(line.k, 'chunk')} could hold {most} of the evidence; what is "
        f"retrieved holds {reached}."
    )


def _found(view: View, cell: CellLine, k: int) -> Aggregate:
    """Return the evidence_recall of what a cell retrieved, as the cell's metrics are scored."""
    metric = scoring.build(f"evidence_recall@{k}")
    records = view.records(cell)
    known = view.stored.clusters
    groups = None if known is None else [known[each.question] for each in records]
    scored = scoring.score_all([metric], [_case(view, each) for each in records])
    return aggregate(
        [each[metric.name] for each in scored], view.run.provenance.seed, clusters=groups
    )


def _case(view: View, record: RecordLine) -> Case:
    hits = tuple(
        Hit(Chunk(rank, Span(each.doc, each.start, each.end), ""), each.score)
        for rank, each in enumerate(record.hits)
    )
    error = record.error
    failure = None if error is None else Failure(error.stage, error.reason)
    return Case(question(view.question(record)), hits, failure=failure)
