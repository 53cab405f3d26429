"""Draws Altair charts as SVG that may be embedded: small, deterministic, and sanitized.

Whatever is not on the lists of elements and attributes is left out, so that no text of a corpus
or a configuration can become markup, a style, a script or a link to elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias
from xml.etree import ElementTree

from harness.cache.tables import Table
from harness.errors import RunError
from harness.fingerprint import digest, fingerprint, source_id, versions
from harness.report.charts import lettering, theme
from harness.report.document import Drawing, TableBlock

try:
    import resource
except ModuleNotFoundError:  # pragma: no cover  Windows
    resource = None  # type: ignore[assignment]

WIDE = 560
NARROW = 360
FULL_WIDTH = 960
"""Widths in pixels: of half a page, of a phone, and of a whole page."""
_KINDS = {WIDE: "wide", NARROW: "narrow", FULL_WIDTH: "broad"}
"""The classes that the stylesheet shows and hides drawings by."""
LINKS = "#questions"
"""All that a link in a chart may lead to: a selection of the questions of the same page."""

_XLINK = "{http://www.w3.org/1999/xlink}href"
_ELEMENTS = frozenset({"a", "g", "line", "path", "text"})
_ATTRIBUTES = frozenset(
    {"d", "fill", "fill-opacity", "font-size", "font-weight", "opacity", "stroke"}
    | {"stroke-dasharray", "stroke-linejoin", "stroke-width", "text-anchor", "transform"}
    | {"x1", "x2", "y1", "y2"}
)
_DEFAULTS = {"opacity": "1", "font-weight": "400", "transform": "translate(0,0)"}
_VALUE = re.compile(r"(?!url)[-\w\s#.,()]*")
_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_OWN_LINK = re.compile(rf"{LINKS}\?[\w=&%.~+-]+\Z")
_RESERVED_BYTES = 72 << 30
"""Bytes of addresses: V8 reserves 64 GiB at once, and our libraries some."""

ChartCache: TypeAlias = Table[tuple[str, str]]
"""Keeps what was drawn, so that the same need not be drawn again."""
_MAX_RECENT = 64
_recent: dict[str, tuple[str, str]] = {}
"""What this process drew last: many runs in one, as of a test suite, look alike."""


def draw(
    label: str,
    title: str,
    caption: str,
    table: TableBlock,
    chart: Callable[..., Any],
    data: tuple[object, ...],
    cache: ChartCache | None = None,
    wide: int = WIDE,
) -> Drawing:
    """Draw one chart as SVG of the width of a page, and of a phone.

    Args:
        label: What the switch between several drawings of one figure says.
        title: What there is to see.
        caption: How to read it.
        table: The figures behind it.
        chart: Makes an Altair chart of a width in pixels and `data`; called only where nothing is
            kept.
        data: All that the chart is made from; its `repr` says whether it is still the same.
        cache: What was drawn before; None: nothing is kept.
        wide: The width of the first in pixels.
    """
    libraries = fingerprint(versions("altair", "vl-convert-python"))
    key = digest(source_id(), libraries, chart.__module__, repr(data), title, str(wide)).hex()
    stored = {} if cache is None else cache.get([key])
    pair = stored.get(key) or _recent.pop(key, None)
    if pair is None:
        pair = _svg(chart, data, wide, title), _svg(chart, data, NARROW, title)
    if cache is not None and not stored:
        cache.put({key: pair})
    _recent[key] = pair
    if len(_recent) > _MAX_RECENT:
        del _recent[next(iter(_recent))]
    return Drawing(label, title, caption, *pair, table)


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


def _svg(chart: Callable[..., Any], data: tuple[object, ...], width: int, title: str) -> str:
    check_memory()
    import vl_convert
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):  # what it checks of every part of a chart takes longer than drawing it
        specification = chart(width, *data).to_dict(validate=False)
    text = vl_convert.vegalite_to_svg({**specification, "config": theme.CONFIG})
    return clean(text, width, title)


def clean(text: str, width: int, title: str) -> str:
    """Return an SVG of `vl_convert` with only what may be embedded in a page.

    Args:
        text: The SVG.
        width: Of the drawing in pixels; it is broader only where what is drawn is.
        title: Its label.
    """
    drawing = ElementTree.fromstring(text)
    broad, high = (round(float(drawing.get(side, "0"))) for side in ("width", "height"))
    broad = max(width, broad)
    kept = [copy for child in drawing for copy in _allowed(child)]
    # Links inside an image would be hidden from those who cannot see it.
    links = any(element.tag == "a" for child in kept for element in child.iter())
    root = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": f"plot {_KINDS[width]}",
            "role": "group" if links else "img",
            "aria-label": lettering.one_line(title),
            "viewBox": f"0 0 {broad} {high}",
            "width": str(broad),
            "height": str(high),
            "font-family": theme.FONT,
            "fill": "none",
        },
    )
    root.extend(kept)
    return ElementTree.tostring(root, encoding="unicode")


def _allowed(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Yield a copy of an element that may be drawn, or what is inside where it need not be."""
    name = element.tag.rpartition("}")[2]
    invisible = name == "path" and not (element.get("fill") or element.get("stroke"))
    if name not in _ELEMENTS or invisible or element.get("display") == "none":
        return
    inner = [copy for child in element for copy in _allowed(child)]
    copy = ElementTree.Element(
        name,
        {
            key: _NUMBER.sub(_round_number, value)
            for key, value in element.attrib.items()
            if key in _ATTRIBUTES and _DEFAULTS.get(key) != value and _VALUE.fullmatch(value)
        },
    )
    if name == "text":
        copy.text = lettering.one_line(element.text or "")
    # Vega puts an address of its own in front of what is only a part of this page.
    if name == "a" and (link := _OWN_LINK.search(element.get(_XLINK, ""))):
        labels = (child.get("aria-label") for child in element)
        label = lettering.one_line(next(filter(None, labels), ""))
        copy.attrib |= {"href": link[0], "aria-label": label}
    if name in ("g", "a") and not copy.attrib:
        yield from inner
    elif inner or copy.text or name in ("line", "path"):
        copy.extend(inner)
        yield copy


def _round_number(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".").replace("-0", "0", match[0] == "-0")
