"""Where the names of points stand, so that they cover neither a point nor one another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.report.charts.lettering import fitted, measured

_HIGH = 14
_RADIUS = 7
_WIDTHS = (190, 130, 80)

Spot = tuple[float, float]
"""Across and down, in pixels."""
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True)
class Place:
    """A text whose end at `align` is at `x`, its middle at `y`, and the box that it may fill."""

    x: float
    y: float
    text: str
    align: Literal["left", "right"]
    box: Box


def around(spot: Spot) -> Box:
    """Return the box of a symbol."""
    x, y = spot
    return x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS


def step(one: Spot, other: Spot) -> list[Box]:
    """Return the boxes of a line from one spot to another: first across, then up."""
    across = (one[0], one[1] - 2, other[0], one[1] + 2)
    return [across, (other[0] - 2, min(one[1], other[1]), other[0] + 2, max(one[1], other[1]))]


def beside(
    name: str,
    spot: Spot,
    taken: Sequence[Box],
    width: float,
    height: float,
    bold: bool = False,
    left: bool = False,
) -> Place | None:
    """Return where a name stands beside its spot; None where there is no room for it.

    Args:
        name: Shortened where only then there is room.
        spot: What it is the name of.
        taken: What it must not cover.
        width: How much room there is across.
        height: And down.
        bold: How it is written.
        left: Whether it is better on the left.
    """
    for widest in _WIDTHS:
        text = fitted(name, widest, bold=bold)
        broad = measured(text, bold=bold)
        for x, y in _tried(*spot, broad, left, width):
            box = (x, y - _HIGH / 2, x + broad, y + _HIGH / 2)
            inside = box[0] >= 0 and box[2] <= width + 20 and box[1] >= -8 and box[3] <= height
            if inside and not any(_overlap(box, other) for other in taken):
                before = box[2] < spot[0]
                end = box[2] if before else x
                return Place(end, y, text, "right" if before else "left", box)
    return None


def _tried(x: float, y: float, broad: float, left: bool, width: float) -> Iterator[Spot]:
    sides = (x + 10, x - 10 - broad)
    for side in reversed(sides) if left else sides:
        for down in (0, -8, 8, -13, 13):
            yield side, y + down
    for down in (-16, 16):
        yield min(x - broad / 2, width + 16 - broad), y + down


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
