"""Altair's charts to SVG that may be embedded: small, the same every time, and harmless.

Whatever is not on the lists of elements and attributes is left out, so that no text of a corpus
or a configuration can become markup, a style, a script or a link to elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Protocol
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from harness.errors import RunError
from harness.fingerprint import fingerprint, source_id, versions
from harness.report.charts import lettering
from harness.rows import key_of

try:
    import resource
except ModuleNotFoundError:  # pragma: no cover  Windows
    resource = None  # type: ignore[assignment]

WIDE = 560
NARROW = 340
BROAD = 960
"""Widths in pixels: of half a page, of a phone, and of a whole page."""
LINKS = "#questions"
"""All that a link in a chart may lead to: a selection of the questions of the same page."""

_XLINK = "{http://www.w3.org/1999/xlink}href"
_ELEMENTS = frozenset({"a", "clipPath", "defs", "g", "line", "path", "rect", "svg", "text"})
_NUMERIC = frozenset({"d", "transform", "width", "height", "x", "y", "x1", "x2", "y1", "y2"})
_LOOKS = frozenset(
    {"fill", "font-size", "font-weight", "opacity", "stroke", "stroke-dasharray"}
    | {"stroke-linejoin", "stroke-width", "text-anchor"}
)
_ATTRIBUTES = _NUMERIC | _LOOKS
_DEFAULTS = {"opacity": "1", "font-weight": "400", "transform": "translate(0,0)"}
_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_OWN_LINK = re.compile(rf"{LINKS}\?[\w=&%.~+-]+")


_RESERVED = 72 << 30
"""Bytes of addresses: V8 reserves 64 GiB at once, and our libraries some."""
_RECENT = 64
_recent: dict[bytes, tuple[str, str]] = {}
"""What this process drew last: many runs in one, as of a test suite, look alike."""


class Drawn(Protocol):
    """Keeps what was drawn, so that the same need not be drawn again."""

    def get(self, keys: Collection[bytes]) -> Mapping[bytes, bytes]:
        """Return the value of each of `keys` that is there."""
        ...

    def put(self, rows: Mapping[bytes, bytes]) -> None:
        """Keep values."""
        ...


def draw(
    chart: Callable[[int], Any],
    data: object,
    id: str,
    title: str,
    drawn: Drawn | None = None,
    wide: int = WIDE,
) -> tuple[str, str]:
    """Return one chart as SVG of the width of a page, and of a phone.

    Args:
        chart: Makes an Altair chart of a width in pixels; asked only where nothing is kept.
        data: All that the chart is made from; its `repr` says whether it is still the same.
        id: Of the drawing, unique in its page.
        title: What the picture is called to those who cannot see it.
        drawn: What was drawn before; None: nothing is kept.
        wide: The width of the first in pixels.
    """
    key = key_of(source_id(), fingerprint(versions("altair", "vl-convert-python")), repr(data))
    key = key_of(key.hex(), id, title, str(wide))
    kept = {} if drawn is None else drawn.get([key])
    pair = _recent.pop(key, None)
    if key in kept:
        one, other = kept[key].decode().split("\0")
        pair = one, other
    elif pair is None:
        pair = _drawn(chart, id, title, wide)
    if drawn is not None and key not in kept:
        drawn.put({key: "\0".join(pair).encode()})
    _recent[key] = pair
    if len(_recent) > _RECENT:
        del _recent[next(iter(_recent))]
    return pair


def _drawn(chart: Callable[[int], Any], id: str, title: str, wide: int) -> tuple[str, str]:
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):  # what it checks of every part of a chart takes longer than drawing it
        one = _svg(chart(wide), id, title, "broad" if wide == BROAD else "wide")
        return one, _svg(chart(NARROW), f"{id}-narrow", title, "narrow")


def check_room() -> None:
    """Check that charts can be drawn; where there is no room for V8, it would end the process.

    Raises:
        RunError: the process may not reserve as much memory as that does.
    """
    if resource is None:  # pragma: no cover  Windows
        return
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= allowed < _RESERVED:
        raise RunError(
            f"only {allowed >> 20:,} MB of memory may be reserved, and what draws the charts "
            f"reserves {_RESERVED >> 20:,} MB, of which it uses few\n"
            "  allow more: ulimit -v unlimited"
        )


def _svg(chart: Any, id: str, title: str, kind: str) -> str:
    check_room()
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(chart.to_dict(validate=False))
    return cleaned(text, id, title, kind)


def cleaned(text: str, id: str, title: str, kind: str) -> str:
    """Return an SVG of `vl_convert` with only what may be embedded in a page.

    Args:
        text: The SVG.
        id: What the ids in it begin with.
        title: Its label.
        kind: `wide`, `broad` or `narrow`: the class that the stylesheet shows and hides it by.
    """
    root = ElementTree.fromstring(text)
    width, height = (round(float(root.get(side, "0"))) for side in ("width", "height"))
    inner = "".join(_element(child, id) for child in root if _name(child) != "rect")
    # Links inside an image would be hidden from those who cannot see it.
    role = "group" if "<a " in inner else "img"
    about = {
        "xmlns": "http://www.w3.org/2000/svg",
        "class": f"plot {kind}",
        "role": role,
        "aria-label": lettering.line(title),
        "viewBox": f"0 0 {width} {height}",
        "width": str(width),
        "height": str(height),
        "font-family": lettering.FONT,
        "fill": "none",
    }
    return f"<svg{_written(about)}>{inner}</svg>"


def _element(element: ElementTree.Element, id: str) -> str:
    name = _name(element)
    if name not in _ELEMENTS or element.get("display") == "none" or _unseen(element):
        return ""
    text = lettering.line(element.text or "") if name == "text" else ""
    inner = escape(text) + "".join(_element(child, id) for child in element)
    attributes = dict(_attributes(element, id))
    if name in ("g", "text", "defs") and not inner:
        return ""
    if (name == "g" and not attributes) or (name == "a" and "href" not in attributes):
        return inner
    return (
        f"<{name}{_written(attributes)}>{inner}</{name}>"
        if inner
        else (f"<{name}{_written(attributes)}/>")
    )


def _unseen(element: ElementTree.Element) -> bool:
    """Return whether it is a path that is drawn neither inside nor along its edge."""
    return _name(element) == "path" and not (element.get("fill") or element.get("stroke"))


def _attributes(element: ElementTree.Element, id: str) -> Iterator[tuple[str, str]]:
    for key, value in element.attrib.items():
        if key == _XLINK or key == "href":
            # Vega puts an address of its own in front of what is only a part of this page.
            link = _OWN_LINK.fullmatch(value[max(value.find("#"), 0) :])
            if link and _name(element) == "a":
                yield "href", link[0]
        elif key == "id":
            yield key, f"{id}-{value}"
        elif key == "clip-path":
            yield key, value.replace("url(#", f"url(#{id}-")
        elif key in _ATTRIBUTES and _DEFAULTS.get(key) != value:
            yield key, _NUMBER.sub(_rounded, value) if key in _NUMERIC else value
    labels = [child.get("aria-label") for child in element] if _name(element) == "a" else []
    for label in labels[:1]:
        if label:
            yield "aria-label", lettering.line(label)


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".").replace("-0", "0", match[0] == "-0")


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _written(attributes: Mapping[str, str]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
