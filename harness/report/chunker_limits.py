"""Report section: the highest evidence recall and precision that each chunker allows."""

from __future__ import annotations

from collections.abc import Iterator

from harness.metrics import named_metrics
from harness.records import Case, Chunk, Hit, Outcome, Span
from harness.report.document import Block, Cell, Paragraph, TableBlock
from harness.report.phrases import measure
from harness.report.run_view import View
from harness.runs import scoring
from harness.stats.aggregate_scores import Aggregate, aggregate
from harness.store.cell_results import CellResult
from harness.store.run_file import ChunkerCeiling
from harness.text.numbers import count
from harness.text.numbers import score as format_score


def blocks(view: View) -> Iterator[Block]:
    """Yield what the best chunks of each chunker would hold, and what was found of it."""
    lines = [ceiling for ceiling in view.run.ceilings if ceiling.evidence_recall.mean is not None]
    if not lines:
        return
    ranked = [cell.chunker for cell in view.cells]
    lines.sort(key=lambda ceiling: ranked.index(ceiling.chunker))
    k = lines[0].k
    best = {
        ceiling.chunker: next(cell for cell in view.cells if cell.chunker == ceiling.chunker)
        for ceiling in lines
    }
    recalls = {
        ceiling.chunker: _evidence_recall(view, best[ceiling.chunker], k) for ceiling in lines
    }
    focus_chunker = None if view.focus is None else view.focus.chunker
    first = next((ceiling for ceiling in lines if ceiling.chunker == focus_chunker), lines[0])
    yield Paragraph(_sentence(first, recalls[first.chunker]))
    head = ["Chunker", "n", f"Any {count(k, 'chunk')}", "As retrieved", "Chunk ceiling"]
    notes = ["", "", f"evidence_ceiling@{k}", f"evidence_recall@{k} of the best cell", ""]
    rows: list[list[Cell]] = [
        [
            ceiling.chunker,
            f"{ceiling.evidence_recall.n:,}",
            measure(ceiling.evidence_recall),
            measure(recalls[ceiling.chunker]),
            measure(ceiling.chunk_ceiling),
        ]
        for ceiling in lines
    ]
    caption = "What each chunker allows: share of the evidence's characters, and precision"
    yield TableBlock(head, rows, caption, notes, cards=True)
    yield Paragraph(
        f"Any {count(k, 'chunk')}: the most of a question's evidence that so many could hold, "
        "whichever they are. Chunk ceiling: the precision of a retriever that finds all evidence. "
        "A chunker with a parent is measured by the chunks that are handed over.",
        "note",
    )


def _sentence(line: ChunkerCeiling, recall: Aggregate) -> str:
    most = format_score(line.evidence_recall.mean, 2)
    reached = format_score(recall.mean, 2)
    return (
        f"With {line.chunker}, {count(line.k, 'chunk')} could hold {most} of the evidence; what is "
        f"retrieved holds {reached}."
    )


def _evidence_recall(view: View, cell: CellResult, k: int) -> Aggregate:
    """Return the evidence_recall of what a cell retrieved, as the cell's metrics are scored."""
    metric = named_metrics.build_metric(f"evidence_recall@{k}")
    records = view.records(cell)
    clusters = view.stored.clusters
    groups = None if clusters is None else [clusters[record.question] for record in records]
    scored = scoring.score_all([metric], [_case(view, record) for record in records])
    return aggregate([scores[metric.name] for scores in scored], clusters=groups)


def _case(view: View, record: Outcome) -> Case:
    hits = tuple(
        Hit(Chunk(rank, Span(hit.doc, hit.start, hit.end), ""), hit.score)
        for rank, hit in enumerate(record.hits)
    )
    return Case(view.question(record), hits, failure=record.error)
