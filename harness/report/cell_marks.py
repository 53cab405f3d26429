"""Assigns each cell of the grid its colour and shape, the same in every table and chart."""

from __future__ import annotations

from collections.abc import Sequence

from harness.comparison.history.run_heads import CellHead
from harness.report.document import Mark
from harness.store.cell_results import CellResult

HUES = 8
SHAPES = 4
_USUAL_HUES = {"bm25": 0, "dense": 1, "hybrid": 2}
_RERANKED_HUE = 3
_FIRST_FREE_HUE = 4


def marks(cells: Sequence[CellResult | CellHead]) -> dict[str, Mark]:
    """Return the mark of each cell, by its full name.

    The hue is the retrieval method, and the embedder where there is but one method; the shape is
    the chunker. Where there are more than there are hues or shapes, they come round again.
    """
    methods = {_method(cell) for cell in cells}
    hue_of = _embedding if len(methods) == 1 else _method
    hues = _assign_hues([hue_of(cell) for cell in cells])
    shapes = {name: number for number, name in enumerate(dict.fromkeys(c.chunker for c in cells))}
    return {
        cell.name: Mark(hues[hue_of(cell)] % HUES, shapes[cell.chunker] % SHAPES) for cell in cells
    }


def _method(cell: CellResult | CellHead) -> tuple[str, str]:
    return cell.retriever, cell.reranker


def _embedding(cell: CellResult | CellHead) -> tuple[str, str]:
    return cell.embedder or "", cell.generator


def _assign_hues(methods: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Number the methods: the usual ones have hues of their own, others take what is left."""
    hues: dict[tuple[str, str], int] = {}
    for method in dict.fromkeys(methods):
        name, reranker = method
        preferred = _RERANKED_HUE if reranker != "none" else _USUAL_HUES.get(name.partition("(")[0])
        used_hues = hues.values()
        if preferred is None or preferred in used_hues:
            free = [*range(_FIRST_FREE_HUE, HUES), *range(_FIRST_FREE_HUE)]
            preferred = next((hue for hue in free if hue not in used_hues), len(hues))
        hues[method] = preferred
    return hues
