"""HTML: its encoding, its title, and its body as Markdown."""

from __future__ import annotations

import codecs
import html
import io
import re

from harness.converting import Converted, heading, tidied
from harness.errors import Problem

_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,1000})</title", re.IGNORECASE)
_AS_BROWSERS_DO = {"iso8859-1": "cp1252", "ascii": "cp1252"}
_NO_CHARSETS = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"}
)
"""Python's own, and one that no browser takes: they hide markup, or make halves of characters."""


def convert(raw: bytes, suffix: str, where: str) -> Converted | Problem:
    """Return headings, lists and tables as Markdown; scripts and styles are left out."""
    import lxml.etree  # type: ignore[import-untyped]
    import lxml.html  # type: ignore[import-untyped]
    from markitdown import StreamInfo
    from markitdown.converters import HtmlConverter

    text = decoded(raw, where)
    if isinstance(text, Problem):
        return text
    if not text.strip():
        return Converted("")
    # Markdownify takes end tags that HTML allows to leave out for missing: a list becomes a line.
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        tree = lxml.html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except lxml.etree.ParserError:  # nothing but comments
        return Converted("")
    if parser.error_log.filter_from_fatals():
        what = "is nested deeper than the 2,048 elements that are read"
        return Problem(where, what, "leave it out: on_error: skip, or a narrower `glob`")
    info = StreamInfo(extension=".html", charset="utf-8")
    found = HtmlConverter().convert(io.BytesIO(lxml.html.tostring(tree, encoding="utf-8")), info)
    body = tidied(found.markdown)
    return Converted(body, heading(body) or title(text))


def decoded(raw: bytes, where: str) -> str | Problem:
    """Return the markup, by its byte-order mark, else by the charset it declares, else as UTF-8."""
    declared = _DECLARED.search(raw[:2048])
    name = "utf-8"
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name = "utf-16"
    elif declared and not raw.startswith(codecs.BOM_UTF8):
        name = declared[1].decode("ascii")
    try:
        known = codecs.lookup(name).name
        if known in _NO_CHARSETS:
            raise LookupError
        return raw.decode(_AS_BROWSERS_DO.get(known, known)).removeprefix("\ufeff")
    except (LookupError, UnicodeError):
        what = f"is not {name}, as it says" if declared else f"is not {name.upper()}"
        return Problem(where, what, "save it as UTF-8, or leave it out with on_error: skip")


def title(markup: str) -> str:
    """Return what the `title` element says; "" where there is none."""
    found = _TITLE.search(markup)
    return " ".join(html.unescape(found[1]).split()) if found else ""
