"""Escape untrusted text for Markdown, GitHub's extensions included, for HTML and for a terminal."""

from __future__ import annotations

import re
import unicodedata

BIDI_CONTROLS = r"\u202a-\u202e\u2066-\u2069"
"""Characters that turn the direction of what stands behind them, for a class of an expression.

Texts from right to left do without; with them a text can seem to say what it does not.
"""
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff{BIDI_CONTROLS}]")
_AUTOLINK = r"""
    (?<!\w)@(?=\w)                      # a mention
    | \#(?=\d) | \b[Gg][Hh]-(?=\d)      # an issue
    | :(?=//) | \b[Ww]{3}(?=\.)         # an address
    | :(?=[\w+-]*[a-z+-][\w+-]*:)                     # an emoji by its name
"""
_LINK = re.compile(_AUTOLINK, re.VERBOSE)
_ACTIVE = re.compile(rf"(?P<linked>{_AUTOLINK})|[$\\`*_\[\]<>|\#~]", re.VERBOSE)
_LIST_MARKER = re.compile(r"^(\d{0,9})(?=(?:(?<=\d)[.)]|[-+])(?:\s|$)|--|==)")
_MAX_WORD_CHARS = 20
"""Characters of a word that is rather left out than cut."""
_ZERO_WIDTH_SPACE = "&#8203;"
"""A space of no width: without it GitHub would make a link of what stands around it."""
_DOLLAR = "<span>$</span>"
"""GitHub's own advice: else two of them are mathematics."""


def escape(text: str, max_chars: int | None = None) -> str:
    """Return `text` so that Markdown and HTML in it stay text, on one line.

    Of more than `max_chars` characters the first are kept, and an ellipsis.
    """
    line = shorten(_one_line(text), max_chars).replace("&", "&amp;")
    return _LIST_MARKER.sub(r"\1\\", _ACTIVE.sub(_escape_match, line))


def escape_html(text: str, max_chars: int | None = None) -> str:
    """Return `text` as text between two tags of HTML, on one line."""
    line = shorten(_one_line(text), max_chars).replace("&", "&amp;")
    line = line.replace("<", "&lt;").replace(">", "&gt;").replace("$", _DOLLAR)
    return _LINK.sub(rf"\g<0>{_ZERO_WIDTH_SPACE}", line)


def fence(text: str, language: str = "text", max_chars: int | None = None) -> list[str]:
    """Return the lines of a block that quotes `text` as it is."""
    content = _CONTROL.sub("\ufffd", shorten(text.removesuffix("\n"), max_chars))
    marks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", content)), default=0))
    return [f"{marks}{language}", *content.split("\n"), marks]


def shorten(text: str, max_chars: int | None) -> str:
    """Return at most `max_chars` characters of a text, whole words of it, and an ellipsis."""
    if max_chars is None or len(text) <= max_chars:
        return text
    cut = text[: max_chars - 1]
    words, _, rest = cut.rpartition(" ")
    return f"{(words if words and len(rest) < _MAX_WORD_CHARS else cut).rstrip()}…"


def _one_line(text: str) -> str:
    return " ".join(_CONTROL.sub("\ufffd", text).split())


def _escape_match(match: re.Match[str]) -> str:
    if match[0] == "$":
        return _DOLLAR
    if match["linked"] is None:
        return f"\\{match[0]}"
    return ("\\#" if match[0] == "#" else match[0]) + _ZERO_WIDTH_SPACE


def make_printable(line: str) -> str:
    """Return one line with a space for each character that a terminal would obey, not show.

    A name of somebody else's can hold anything.
    """
    return line if line.isprintable() else "".join(c if is_visible(c) else " " for c in line)


def is_visible(character: str) -> bool:
    """Return whether a terminal shows a character; the wider and narrower spaces are shown too."""
    return character.isprintable() or unicodedata.category(character) == "Zs"
