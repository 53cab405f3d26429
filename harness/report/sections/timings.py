"""Timings: where the run spent its time, and what each answer took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.report import paying
from harness.report.blocks import Block, Columns, Table
from harness.report.sections import sections
from harness.report.view import View


@sections.register
@dataclass(frozen=True)
class Timings:
    """Seconds by stage over the run, and by question in each cell."""

    name: ClassVar[str] = "timings"
    order: ClassVar[int] = 70
    title: ClassVar[str] = "Time and tokens"
    short: ClassVar[str] = "Time"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return two tables: the run's stages, and the cells."""
        run = view.run
        stages = [[stage, numbers.seconds(spent)] for stage, spent in run.seconds.items()]
        whole = [Table(["Stage", "Time"], stages, "The whole run")]
        rows = []
        for cell in view.cells:
            places, columns = view.places(cell), view.stored.columns
            tokens = [
                [value for value in each[places].tolist() if value == value]
                for each in (columns.tokens_in, columns.tokens_out)
            ]
            spent = [numbers.seconds(cell.seconds.get(s)) for s in ("retrieval", "generation")]
            means = [f"{sum(each) / len(each):.0f}" if each else numbers.MISSING for each in tokens]
            found = cell.index_recall
            recall = numbers.MISSING if found is None else f"{numbers.score(found.mean)} @{found.k}"
            chunks = f"{cell.chunks:,}" if cell.chunks else numbers.MISSING  # a system's own
            rows.append([view.name(cell), chunks, recall, *spent, *means])
        head = [
            "Configuration",
            "Chunks",
            "Index recall",
            "Retrieval",
            "Generation",
            "Tokens in",
            "Tokens out",
        ]
        kinds = [[k, f"{n['made']:,}", f"{n['reused']:,}"] for k, n in run.cache.items()]
        if kinds:
            whole.append(Table(["In the cache", "Made", "Reused"], kinds, "Shared work"))
        if not rows:
            return whole
        return [
            Table(head, rows, "Mean of a question, without embedding it"),
            *paying.tables(view),
            Columns(whole[:1], whole[1:]),
        ]
