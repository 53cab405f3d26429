"""Draws Altair charts as SVG that may be embedded: small, deterministic, and sanitized.

Whatever is not on the lists of elements and attributes is left out, so that no text of a corpus
or a configuration can become markup, a style, a script or a link to elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from harness.errors import RunError
from harness.fingerprint import digest, fingerprint, source_id, versions
from harness.report.charts.theme import CONFIG, FONT, FULL_WIDTH, NARROW, WIDE, one_line
from harness.report.document import Drawing, TableBlock
from harness.report.run_view import ChartCache

try:
    import resource
except ModuleNotFoundError:  # pragma: no cover  Windows
    resource = None  # type: ignore[assignment]

LINKS = "#questions"
"""All that a link in a chart may lead to: a selection of the questions of the same page."""

_KINDS = {WIDE: "wide", NARROW: "narrow", FULL_WIDTH: "broad"}
"""The classes that the stylesheet shows and hides drawings by."""
_XLINK = "{http://www.w3.org/1999/xlink}href"
_ELEMENTS = frozenset({"a", "g", "line", "path", "text", "tspan"})
_ATTRIBUTES = frozenset(
    {"d", "display", "fill", "fill-opacity", "font-size", "font-weight", "opacity", "stroke"}
    | {"stroke-dasharray", "stroke-linejoin", "stroke-width", "text-anchor", "transform"}
    | {"dy", "x", "x1", "x2", "y1", "y2"}
)
_VALUE = re.compile(r"(?!url)[-\w\s#.,()]*")
_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_OWN_LINK = re.compile(rf"{LINKS}\?[\w=&%.~+-]+\Z")
_RESERVED_BYTES = 72 << 30
"""Bytes of addresses: V8 reserves 64 GiB at once, and our libraries some."""
_MAX_RECENT = 64
_recent: dict[str, tuple[str, str]] = {}
"""What this process drew last: many runs in one, as of a test suite, look alike."""


@dataclass(frozen=True)
class Chart:
    """A chart that is not drawn yet, with all that is said of it."""

    title: str
    """What there is to see."""
    caption: str
    """How to read it."""
    table: TableBlock
    """The figures behind it."""
    spec: Callable[..., Any]
    """Makes an Altair chart of a width in pixels and `data`."""
    data: tuple[object, ...]
    """All that the chart is made from; its `repr` says whether it is still the same."""
    label: str = ""
    """What the switch between several drawings of one figure says."""
    width: int = WIDE
    """On a page, in pixels; every chart is drawn for a phone, too."""

    def draw(self, cache: ChartCache | None = None) -> Drawing:
        """Return both drawings, from the cache where the same was drawn before."""
        libraries = fingerprint(versions("altair", "vl-convert-python"))
        parts = (self.spec.__module__, repr(self.data), self.title, str(self.width))
        key = digest(source_id(), libraries, *parts).hex()
        stored = {} if cache is None else cache.get([key])
        pair = stored.get(key) or _recent.pop(key, None)
        if pair is None:
            pair = self._svg(self.width), self._svg(NARROW)
        if cache is not None and not stored:
            cache.put({key: pair})
        _recent[key] = pair
        if len(_recent) > _MAX_RECENT:
            del _recent[next(iter(_recent))]
        return Drawing(self.label, self.title, self.caption, *pair, self.table)

    def _svg(self, width: int) -> str:
        check_memory()
        import vl_convert
        from altair.utils.schemapi import debug_mode

        with debug_mode(False):  # checking every part of a chart takes longer than drawing it
            specification = self.spec(width, *self.data).to_dict(validate=False)
        text = vl_convert.vegalite_to_svg({**specification, "config": CONFIG})
        return clean(text, width, self.title)


def check_memory() -> None:
    """Check that charts can be drawn; where there is no room for V8, it would end the process.

    Raises:
        RunError: the process may not reserve as much memory as that does.
    """
    if resource is None:  # pragma: no cover  Windows
        return
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= allowed < _RESERVED_BYTES:
        raise RunError(
            f"only {allowed >> 20:,} MB of memory may be reserved, and what draws the charts "
            f"reserves {_RESERVED_BYTES >> 20:,} MB, of which it uses few\n"
            "  allow more: ulimit -v unlimited"
        )


def clean(text: str, width: int, title: str) -> str:
    """Return an SVG of `vl_convert` with only what may be embedded in a page.

    Args:
        text: The SVG.
        width: That it was drawn for, which says where it is shown.
        title: Its label.
    """
    drawing = ElementTree.fromstring(text)
    kept = [copy for child in drawing for copy in _allowed(child)]
    # Links inside an image would be hidden from those who cannot see it.
    links = any(element.tag == "a" for child in kept for element in child.iter())
    broad, high = (round(float(drawing.get(side, "0"))) for side in ("width", "height"))
    broad = max(width, broad)  # a few panels of a chart keep their size
    root = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": f"plot {_KINDS[width]}",
            "role": "group" if links else "img",
            "aria-label": one_line(title),
            "viewBox": f"0 0 {broad} {high}",
            "width": str(broad),
            "height": str(high),
            "font-family": FONT,
            "fill": "none",
        },
    )
    root.extend(kept)
    return ElementTree.tostring(root, encoding="unicode")


def _allowed(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Yield a copy of an element that may be drawn, or what is inside where it need not be."""
    name = element.tag.rpartition("}")[2]
    if name not in _ELEMENTS:
        return
    kept = {
        key: _NUMBER.sub(lambda number: f"{float(number[0]):.2f}", value)
        for key, value in element.attrib.items()
        if key in _ATTRIBUTES and _VALUE.fullmatch(value)
    }
    # Vega puts an address of its own in front of what is only a part of this page.
    if name == "a" and (link := _OWN_LINK.search(element.get(_XLINK, ""))):
        labels = (child.get("aria-label") for child in element)
        kept |= {"href": link[0], "aria-label": one_line(next(filter(None, labels), ""))}
    copy = ElementTree.Element(name, kept)
    copy.text = one_line(element.text or "") if name in ("text", "tspan") else None
    copy.extend(inner for child in element for inner in _allowed(child))
    if kept or name not in ("g", "a"):
        yield copy
    else:
        yield from copy
