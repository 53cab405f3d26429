"""Texts from outside as Markdown and HTML: what stands in them stays text, on GitHub too."""

from __future__ import annotations

import re

TURNING = r"\u202a-\u202e\u2066-\u2069"
"""Characters that turn the direction of what stands behind them, for a class of an expression.

Texts from right to left do without; with them a text can seem to say what it does not.
"""
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{TURNING}]")
_LINKED = r"""
    (?<!\w)@(?=\w)                      # a mention
    | \#(?=\d) | \b[Gg][Hh]-(?=\d)      # an issue
    | :(?=//) | \b[Ww]{3}(?=\.)         # an address
    | :(?=[\w+-]*[a-z+-][\w+-]*:)                     # an emoji by its name
"""
_LINK = re.compile(_LINKED, re.VERBOSE)
_ACTIVE = re.compile(rf"(?P<linked>{_LINKED})|[$\\`*_\[\]<>|\#~]", re.VERBOSE)
_LIST = re.compile(r"^(\d{0,9})(?=(?:(?<=\d)[.)]|[-+])(?:\s|$)|--|==)")
_WORD = 20
"""Characters of a word that is rather left out than cut."""
_BREAK = "&#8203;"
"""A space of no width: without it GitHub would make a link of what stands around it."""
_DOLLAR = "<span>$</span>"
"""GitHub's own advice: else two of them are mathematics."""


def escaped(text: str, longest: int | None = None) -> str:
    """Return `text` so that Markdown and HTML in it stay text, on one line.

    Of more than `longest` characters the first are kept, and an ellipsis.
    """
    line = shortened(_one_line(text), longest).replace("&", "&amp;")
    return _LIST.sub(r"\1\\", _ACTIVE.sub(_inert, line))


def in_html(text: str, longest: int | None = None) -> str:
    """Return `text` as text between two tags of HTML, on one line."""
    line = shortened(_one_line(text), longest).replace("&", "&amp;")
    line = line.replace("<", "&lt;").replace(">", "&gt;").replace("$", _DOLLAR)
    return _LINK.sub(rf"\g<0>{_BREAK}", line)


def fenced(text: str, language: str = "text", longest: int | None = None) -> list[str]:
    """Return the lines of a block that quotes `text` as it is."""
    kept = _CONTROL.sub("\ufffd", shortened(text.removesuffix("\n"), longest))
    marks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", kept)), default=0))
    return [f"{marks}{language}", *kept.split("\n"), marks]


def shortened(text: str, longest: int | None) -> str:
    """Return at most `longest` characters of a text, whole words of it, and an ellipsis."""
    if longest is None or len(text) <= longest:
        return text
    cut = text[: longest - 1]
    words, _, rest = cut.rpartition(" ")
    return f"{(words if words and len(rest) < _WORD else cut).rstrip()}…"


def _one_line(text: str) -> str:
    return " ".join(_CONTROL.sub("\ufffd", text).split())


def _inert(found: re.Match[str]) -> str:
    if found[0] == "$":
        return _DOLLAR
    if found["linked"] is None:
        return f"\\{found[0]}"
    return ("\\#" if found[0] == "#" else found[0]) + _BREAK
