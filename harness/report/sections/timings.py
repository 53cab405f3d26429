"""Timings: seconds by stage, and seconds and tokens of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report import cost_tables
from harness.report.document import Block, TableBlock, TwoColumns
from harness.report.run_view import View
from harness.report.sections import section
from harness.text import numbers


@section("timings", 70, "Time and tokens", "Time")
def blocks(view: View) -> Sequence[Block]:
    """Return two tables: the run's stages, and the cells."""
    run = view.run
    stages = [[stage, numbers.seconds(spent)] for stage, spent in run.seconds.items()]
    whole = [TableBlock(["Stage", "Time"], stages, "The whole run")]
    rows = []
    for cell in view.cells:
        frame, recall = view.frame(cell), cell.index_recall
        tokens = [
            column[column == column] for column in (frame.answer_tokens_in, frame.answer_tokens_out)
        ]
        rows.append(
            [
                view.name(cell),
                f"{cell.chunks:,}" if cell.chunks else numbers.MISSING,  # a system's own
                f"{numbers.score(recall.mean)} @{recall.k}" if recall else numbers.MISSING,
                *(numbers.seconds(cell.seconds.get(s)) for s in ("retrieval", "generation")),
                *(f"{column.mean():.0f}" if len(column) else numbers.MISSING for column in tokens),
            ]
        )
    head = ["Configuration", "Chunks", "Index recall", "Retrieval", "Generation"]
    head += ["Tokens in", "Tokens out"]
    kinds = [[k, f"{n['made']:,}", f"{n['reused']:,}"] for k, n in run.cache.items()]
    if kinds:
        whole.append(TableBlock(["In the cache", "Made", "Reused"], kinds, "Shared work"))
    if not rows:
        return whole
    return [
        TableBlock(head, rows, "Mean of a question, without embedding it"),
        *cost_tables.tables(view),
        TwoColumns(whole[:1], whole[1:]),
    ]
