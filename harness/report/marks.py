"""Marks: how each cell of the grid is drawn, the same in every table and chart."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.blocks import Mark
from harness.stored import CellLine

HUES = 8
SHAPES = 4
_USUAL = {"bm25": 0, "dense": 1, "hybrid": 2}
_RERANKED = 3
_FURTHER = 4


def marks(cells: Sequence[CellLine]) -> dict[str, Mark]:
    """Return the mark of each cell, by its full name.

    The hue is the retrieval method, and the embedder where there is but one method; the shape is
    the chunker. Where there are more than there are hues or shapes, they come round again.
    """
    methods = {_method(cell) for cell in cells}
    hue_of = _embedded if len(methods) == 1 else _method
    hues = _numbered([hue_of(cell) for cell in cells])
    shapes = {name: at for at, name in enumerate(dict.fromkeys(c.chunker for c in cells))}
    return {
        cell.name: Mark(hues[hue_of(cell)] % HUES, shapes[cell.chunker] % SHAPES) for cell in cells
    }


def _method(cell: CellLine) -> tuple[str, str]:
    return cell.retriever, cell.reranker


def _embedded(cell: CellLine) -> tuple[str, str]:
    return cell.embedder or "", cell.generator


def _numbered(methods: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Number the methods: the usual ones have hues of their own, others take what is left."""
    hues: dict[tuple[str, str], int] = {}
    for method in dict.fromkeys(methods):
        name, reranker = method
        wanted = _RERANKED if reranker != "none" else _USUAL.get(name.partition("(")[0])
        taken = hues.values()
        if wanted is None or wanted in taken:
            free = [*range(_FURTHER, HUES), *range(_FURTHER)]
            wanted = next((hue for hue in free if hue not in taken), len(hues))
        hues[method] = wanted
    return hues
