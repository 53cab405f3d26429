"""Assigns each cell of the grid its colour and shape, the same in every table and chart."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.document import Mark
from harness.store.cell_results import CellResult

HUES = 8
SHAPES = 4
_USUAL_HUES = {"bm25": 0, "dense": 1, "hybrid": 2}
_RERANKED_HUE = 3
_FREE_HUES = (4, 5, 6, 7, 0, 1, 2, 3)
"""Hues of methods without one of their own, in the order in which they are given away."""


def marks(cells: Sequence[CellResult]) -> dict[str, Mark]:
    """Return the mark of each cell, by its full name.

    The hue is the retrieval method, and the embedder where there is but one method; the shape is
    the chunker. Where there are more than there are hues or shapes, they come round again.
    """
    methods = [(cell.retriever, cell.reranker) for cell in cells]
    if len(set(methods)) == 1:
        methods = [(cell.embedder or "", cell.generator) for cell in cells]
    hues: dict[tuple[str, str], int] = {}
    for name, other in dict.fromkeys(methods):
        usual = _RERANKED_HUE if other != "none" else _USUAL_HUES.get(name.partition("(")[0])
        if usual is None or usual in hues.values():
            usual = next((hue for hue in _FREE_HUES if hue not in hues.values()), len(hues))
        hues[name, other] = usual
    shapes = {name: number for number, name in enumerate(dict.fromkeys(c.chunker for c in cells))}
    return {
        cell.name: Mark(hues[method] % HUES, shapes[cell.chunker] % SHAPES)
        for cell, method in zip(cells, methods, strict=True)
    }
