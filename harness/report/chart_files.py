"""Writes the charts as SVG files beside `report.md`, which has no stylesheet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.files.atomic import write_atomically
from harness.report.document import Block, ChartFigure, Part, TwoColumns

FOLDER = "charts"
_VIEW_BOX = re.compile(r' viewBox="([^"]+)"')
_REPLACED = re.compile(r' (?:xmlns|viewBox|width|height)="[^"]*"')
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
    root, _, content = svg.partition(">")
    box = _VIEW_BOX.search(root)
    assert box is not None
    left, top, width, height = map(float, box[1].split())
    x, y = f"{left - _MARGIN_PX:g}", f"{top - _MARGIN_PX:g}"
    broad, high = f"{width + 2 * _MARGIN_PX:g}", f"{height + 2 * _MARGIN_PX:g}"
    return (
        f'{_REPLACED.sub("", root)} xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="{x} {y} {broad} {high}" width="{broad}" height="{high}">'
        f'<rect x="{x}" y="{y}" width="{broad}" height="{high}" fill="#ffffff"/>{content}\n'
    )


def _figures(blocks: Sequence[Block]) -> Iterator[ChartFigure]:
    for block in blocks:
        if isinstance(block, ChartFigure):
            yield block
        elif isinstance(block, TwoColumns):
            yield from _figures([*block.first, *block.second])
