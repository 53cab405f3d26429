"""The colours that charts are drawn with: the light theme's, which the stylesheet recolours.

`20-charts.css` names each of them; a colour that is not here stays as it is in the dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.report.blocks import Mark

BACKGROUND = "#ffffff"
INK = "#14181d"
SECOND = "#4a525c"
THIRD = "#646c76"
LINE = "#e4e7eb"
STRONG = "#c6ccd3"
HUES: Sequence[str] = (
    "#757d88",
    "#c2570c",
    "#2280be",
    "#123f8c",
    "#6b4ba1",
    "#0b7a75",
    "#a8336f",
    "#6a6a00",
)
"""By the number that a `Mark` has."""
STAGES: Mapping[str, str] = {
    "none": "#e0e7ee",
    "chunking": "#5e3c99",
    "index": "#b9b2d8",
    "retrieval": "#b84e06",
    "reranking": "#fdbf6f",
    "context": "#6fc5b8",
    "generation": "#01665e",
}
"""By where an answer was lost; `none`: it was not."""
ON_PALE = "#101418"
"""Text on the stages that are pale in both themes; the stylesheet leaves it alone."""
TOKENS: Mapping[str, str] = {
    BACKGROUND: "background",
    INK: "ink",
    SECOND: "second",
    THIRD: "third",
    LINE: "line",
    STRONG: "strong",
    **{hex_: f"hue-{number}" for number, hex_ in enumerate(HUES)},
    **{hex_: f"stage-{stage}" for stage, hex_ in STAGES.items()},
}
"""The custom property of the stylesheet that stands for each colour."""

_SHAPES = ("circle", "circle", "diamond", "square")
_DASHES = ((1, 0), (4, 3), (1.5, 3), (8, 3))
_HOLLOW = 1


def hue(mark: Mark) -> str:
    """Return the colour of a cell."""
    return HUES[mark.hue % len(HUES)]


def inside(mark: Mark) -> str:
    """Return what a cell's symbol is filled with: its colour, or nothing where it is hollow."""
    return BACKGROUND if mark.shape == _HOLLOW else hue(mark)


def shape(mark: Mark) -> str:
    """Return the shape of a cell's symbol, by Vega's names."""
    return _SHAPES[mark.shape % len(_SHAPES)]


def dash(mark: Mark) -> Sequence[float]:
    """Return how a cell's line is broken: strokes and gaps in pixels."""
    return _DASHES[mark.shape % len(_DASHES)]
