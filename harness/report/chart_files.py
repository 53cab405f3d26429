"""Writes the charts as SVG files beside `report.md`, which has no stylesheet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.dom import minidom

from harness.files.atomic import write_atomically
from harness.report.document import Block, ChartFigure, Part, TwoColumns

FOLDER = "charts"
_SVG = "http://www.w3.org/2000/svg"
_MARGIN_PX = 12
"""Pixels of white round a drawing, which the page gives it otherwise."""


def file_names(figure: ChartFigure) -> list[str]:
    """Return the path of each drawing's file, from the report's folder."""
    stem = re.sub(r"[^a-z0-9]+", "-", figure.id.lower()).strip("-") or "chart"
    ends = ["", *(f"-{number}" for number in range(2, len(figure.drawings) + 1))]
    return [f"{FOLDER}/{stem}{end}.svg" for end in ends]


def write(folder: Path, parts: Sequence[Part]) -> list[Path]:
    """Write every drawing into `charts/` of a run's folder, and take away what no report shows.

    Raises:
        OSError: a file cannot be written.
    """
    if (folder / FOLDER).is_symlink():  # a run of somebody else's may lead elsewhere
        (folder / FOLDER).unlink()
    written = []
    for part in parts:
        for figure in _figures(part.blocks):
            for drawing, name in zip(figure.drawings, file_names(figure), strict=True):
                path = folder / name
                path.parent.mkdir(exist_ok=True)
                write_atomically(path, as_standalone(drawing.wide))
                written.append(path)
    for path in (folder / FOLDER).glob("*.svg"):
        if path not in written:
            path.unlink()
    return written


def as_standalone(svg: str) -> str:
    """Return a drawing of the page, which has a viewBox, as a file of its own: on white."""
    document = minidom.parseString(svg)
    root = document.documentElement
    assert root is not None
    left, top, width, height = map(float, root.getAttribute("viewBox").split())
    size = {"width": f"{width + 2 * _MARGIN_PX:g}", "height": f"{height + 2 * _MARGIN_PX:g}"}
    corner = {"x": f"{left - _MARGIN_PX:g}", "y": f"{top - _MARGIN_PX:g}"}
    ground = document.createElement("rect")
    _set_attributes(ground, {**corner, **size, "fill": "#ffffff"})
    _set_attributes(
        root, {"viewBox": " ".join([*corner.values(), *size.values()]), **size, "xmlns": _SVG}
    )
    root.insertBefore(ground, root.firstChild)
    return root.toxml() + "\n"


def _set_attributes(element: minidom.Element, attributes: Mapping[str, str]) -> None:
    for name, value in attributes.items():
        element.setAttribute(name, value)


def _figures(blocks: Sequence[Block]) -> Iterator[ChartFigure]:
    for block in blocks:
        if isinstance(block, ChartFigure):
            yield block
        elif isinstance(block, TwoColumns):
            yield from _figures([*block.first, *block.second])
