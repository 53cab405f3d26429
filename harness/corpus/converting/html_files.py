"""Convert HTML to Markdown; detect its encoding and its title."""

from __future__ import annotations

import codecs
import html
import io
import re

from harness.corpus.converting import ConvertedFile, first_heading, tidy
from harness.errors import Problem

_DECLARED_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE
)
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,1000})</title", re.IGNORECASE)
_BROWSER_CHARSETS = {"iso8859-1": "cp1252", "ascii": "cp1252"}
_REFUSED_CHARSETS = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"}
)
"""Python's own, and one that no browser takes: they hide markup, or make halves of characters."""


def convert(raw: bytes, suffix: str, where: str) -> ConvertedFile | Problem:
    """Return headings, lists and tables as Markdown; scripts and styles are left out."""
    import lxml.etree  # type: ignore[import-untyped]
    import lxml.html  # type: ignore[import-untyped]
    from markitdown import StreamInfo
    from markitdown.converters import HtmlConverter

    text = decode(raw, where)
    if isinstance(text, Problem):
        return text
    if not text.strip():
        return ConvertedFile("")
    # Markdownify takes end tags that HTML allows to leave out for missing: a list becomes a line.
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        tree = lxml.html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except lxml.etree.ParserError:  # nothing but comments
        return ConvertedFile("")
    if parser.error_log.filter_from_fatals():
        message = "is nested deeper than the 2,048 elements that are read"
        return Problem(where, message, "leave it out: on_error: skip, or a narrower `glob`")
    info = StreamInfo(extension=".html", charset="utf-8")
    result = HtmlConverter().convert(io.BytesIO(lxml.html.tostring(tree, encoding="utf-8")), info)
    body = tidy(result.markdown)
    return ConvertedFile(body, first_heading(body) or find_title(text))


def decode(raw: bytes, where: str) -> str | Problem:
    """Return the markup, by its byte-order mark, else by the charset it declares, else as UTF-8."""
    declared = _DECLARED_CHARSET.search(raw[:2048])
    name = "utf-8"
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name = "utf-16"
    elif declared and not raw.startswith(codecs.BOM_UTF8):
        name = declared[1].decode("ascii")
    try:
        codec = codecs.lookup(name).name
        if codec in _REFUSED_CHARSETS:
            raise LookupError
        return raw.decode(_BROWSER_CHARSETS.get(codec, codec)).removeprefix("\ufeff")
    except (LookupError, UnicodeError):
        message = f"is not {name}, as it says" if declared else f"is not {name.upper()}"
        return Problem(where, message, "save it as UTF-8, or leave it out with on_error: skip")


def find_title(markup: str) -> str:
    """Return what the `title` element says; "" where there is none."""
    match = _TITLE.search(markup)
    return " ".join(html.unescape(match[1]).split()) if match else ""
