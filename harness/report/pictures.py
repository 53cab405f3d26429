"""The charts as files beside `report.md`, where no stylesheet colours them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.dom import minidom

from harness.report.blocks import Block, Columns, Figure, Part
from harness.writing import atomically

FOLDER = "charts"
_SVG = "http://www.w3.org/2000/svg"
_MARGIN = 12
"""Pixels of white round a drawing, which the page gives it otherwise."""


def names(figure: Figure) -> list[str]:
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
            for drawing, name in zip(figure.drawings, names(figure), strict=True):
                path = folder / name
                path.parent.mkdir(exist_ok=True)
                atomically(path, standalone(drawing.wide))
                written.append(path)
    for path in (folder / FOLDER).glob("*.svg"):
        if path not in written:
            path.unlink()
    return written


def standalone(svg: str) -> str:
    """Return a drawing of the page, which has a viewBox, as a file of its own: on white."""
    document = minidom.parseString(svg)
    root = document.documentElement
    assert root is not None
    left, top, width, height = map(float, root.getAttribute("viewBox").split())
    size = {"width": f"{width + 2 * _MARGIN:g}", "height": f"{height + 2 * _MARGIN:g}"}
    corner = {"x": f"{left - _MARGIN:g}", "y": f"{top - _MARGIN:g}"}
    ground = document.createElement("rect")
    _set(ground, {**corner, **size, "fill": "#ffffff"})
    _set(root, {"viewBox": " ".join([*corner.values(), *size.values()]), **size, "xmlns": _SVG})
    root.insertBefore(ground, root.firstChild)
    return root.toxml() + "\n"


def _set(element: minidom.Element, attributes: Mapping[str, str]) -> None:
    for name, value in attributes.items():
        element.setAttribute(name, value)


def _figures(blocks: Sequence[Block]) -> Iterator[Figure]:
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Columns):
            yield from _figures([*block.first, *block.second])
