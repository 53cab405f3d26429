"""Curves and trade-offs: charts by k, by cost, by question and by chunk length."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.charts import curves_chart, histograms, tradeoffs
from harness.report.charts.theme import short_name
from harness.report.document import Block, Paragraph
from harness.report.phrases import join_names
from harness.report.run_view import View
from harness.report.sections import section

_SHAPES = ("a filled circle", "a hollow circle", "a diamond", "a square")


@section("curves", 30, "Curves and trade-offs", "Curves")
def blocks(view: View) -> Sequence[Block]:
    """Return the figures for which there is anything to draw, and how cells are drawn."""
    candidates = [
        curves_chart.figure(view),
        tradeoffs.figure(view),
        histograms.scores(view),
        histograms.lengths(view),
    ]
    figures = [figure for figure in candidates if figure is not None]
    explanation = _explain_marks(view)
    return [Paragraph(explanation, "plain"), *figures] if figures and explanation else figures


def by_k(view: View) -> list[Block]:
    """Return the curves over k alone, where there are any."""
    figure = curves_chart.figure(view)
    return [] if figure is None else [figure]


def _explain_marks(view: View) -> str:
    """Return what the colours and shapes of the cells' symbols tell; "" where they are alike."""
    sentences = []
    if len({view.mark(cell).hue for cell in view.cells}) > 1:
        methods = {(cell.retriever, cell.reranker) for cell in view.cells}
        meaning = (
            "how a configuration retrieves"
            if len(methods) > 1
            else "how a configuration embeds and answers"
        )
        sentences.append(f"Colour tells {meaning}.")
    chunkers = {cell.chunker: view.mark(cell).shape for cell in view.cells}
    if 1 < len(chunkers) <= len(_SHAPES):
        shapes = [f"{_SHAPES[shape]} is {short_name(name)}" for name, shape in chunkers.items()]
        text = join_names(shapes)
        sentences.append(f"{text[0].upper()}{text[1:]}.")
    elif len(chunkers) > 1:
        sentences.append(
            "Shape tells the chunker; where there are more than four, shapes come again."
        )
    return " ".join(sentences)
