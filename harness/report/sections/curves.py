"""Curves and trade-offs: what more results, more time and other chunks come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.report.blocks import Block, Text
from harness.report.charts import cells, curves, distribution, lengths, scores, tradeoffs
from harness.report.phrases import listed
from harness.report.sections import sections
from harness.report.view import View

_SHAPES = ("a filled circle", "a hollow circle", "a diamond", "a square")


@sections.register
@dataclass(frozen=True)
class Curves:
    """Charts of all cells: by k, by cost, by question, and of their chunks."""

    name: ClassVar[str] = "curves"
    order: ClassVar[int] = 30
    title: ClassVar[str] = "Curves and trade-offs"
    short: ClassVar[str] = "Curves"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return the figures for which there is anything to draw, and how cells are drawn."""
        drawn = [
            curves.figure(view),
            tradeoffs.figure(view),
            scores.figure(view),
            distribution.figure(view),
            lengths.figure(view),
        ]
        figures = [figure for figure in drawn if figure is not None]
        said = _key(view)
        return [Text(said, "plain"), *figures] if figures and said else figures


def _key(view: View) -> str:
    """Return what the colours and shapes of the cells' symbols tell; "" where they are alike."""
    said = []
    if len({view.mark(cell).hue for cell in view.cells}) > 1:
        methods = {(cell.retriever, cell.reranker) for cell in view.cells}
        told = (
            "how a configuration retrieves"
            if len(methods) > 1
            else "how a configuration embeds and answers"
        )
        said.append(f"Colour tells {told}.")
    chunkers = {cell.chunker: view.mark(cell).shape for cell in view.cells}
    if 1 < len(chunkers) <= len(_SHAPES):
        shapes = [f"{_SHAPES[at]} is {cells.short(name)}" for name, at in chunkers.items()]
        text = listed(shapes)
        said.append(f"{text[0].upper()}{text[1:]}.")
    elif len(chunkers) > 1:
        said.append("Shape tells the chunker; where there are more than four, shapes come again.")
    return " ".join(said)
