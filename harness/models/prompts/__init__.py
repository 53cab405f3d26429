"""The prompts that ship with the harness, a text file each, and how texts are put into any prompt.

A text from outside must not pose as the prompt around it: a line of it that looks like a label is
marked as quoted, and a tag of ours loses its bracket. No more can be done in a prompt: that a model
is not persuaded by what it reads cannot be promised.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Collection
from functools import cache
from pathlib import Path

_LABELS = ("answer", "context", "passage", "question", "reference", "statement", "text")
_OF_TEMPLATE = re.compile(r"^[\W_]*([^\W\d_][^\n:{}<>]{0,39}?)[\W_]*[:：]", re.MULTILINE)
_COLON = ":\u02d0\u2236\ua789"
"""The colon, and what looks like one and is not turned into one by NFKD."""
_MARKS = rf"(?:[^\w{_COLON}]|_)*+"
_BRACKET = re.compile(r"[<\ufe64\uff1c]([^<\ufe64\uff1c]*)")
_TAG = re.compile(r"[^\w>]*+(?:answer|context|document|evidence|passage|question|reference)s?\b")
_UNSEEN = ("Cc", "Cf", "Me", "Mn")
"""Categories of characters that are not seen, or only as an accent."""


@cache
def load_prompt(name: str) -> str:
    """Return the text of `NAME.txt`, without the line feed that ends the file."""
    return (Path(__file__).parent / f"{name}.txt").read_text("utf-8").removesuffix("\n")


def check_places(template: str, needed: Collection[str], allowed: Collection[str] = ()) -> None:
    """Raise `ValueError` where a template lacks a place, or has another; all written plainly."""
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"prompt: {error}; write {{{{ and }}}} for braces") from None
    places = [place for _, place, _, _ in parts if place is not None]
    plain = not any(spec or how for _, _, spec, how in parts)
    if not plain or not set(needed) <= set(places) <= {*needed, *allowed}:
        may = f", may have {_braced(allowed)}," if allowed else ""
        raise ValueError(
            f"prompt: it must have the places {_braced(needed)}{may} and no others, each written "
            f"plainly, and has {places}; write {{{{ and }}}} for braces"
        )


def _braced(names: Collection[str]) -> str:
    return " and ".join(f"{{{name}}}" for name in names)


def fill_template(template: str, **texts: object) -> str:
    """Return `template` with each of `texts` in the place of its name.

    A line of a text that could pass for a label of the template, or for one of those that shipped
    prompts have, begins with "> ".
    """
    label = _label_pattern(template)
    return template.format(
        **{
            place: _quote_labels(value, label) if isinstance(value, str) else value
            for place, value in texts.items()
        }
    )


def escape_tags(text: str) -> str:
    """Return a text in which no tag of the prompts for drafting begins."""
    return _BRACKET.sub(
        lambda match: f"&lt;{match[1]}" if _TAG.match(_plain(match[1])) else match[0], text
    )


def _quote_labels(text: str, label: re.Pattern[str]) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(f"> {line}" if label.match(_plain(line)) else line for line in lines)


@cache
def _label_pattern(template: str) -> re.Pattern[str]:
    """Return what matches a line, made plain, that looks like a label."""
    labels = {re.escape(_plain(text)) for text in _OF_TEMPLATE.findall(template)}
    words = "|".join(sorted({*_LABELS, *labels}))
    # No part can take what the next one needs: the time stays in step with the length.
    return re.compile(rf"[\W\d_]*+(?:{words})s?{_MARKS}\d*+{_MARKS}[{_COLON}]")


def _plain(text: str) -> str:
    """Return a text as it reads: in small letters, with one space for several, nothing unseen."""
    if text.isascii() and text.isprintable():
        return " ".join(text.lower().split())
    # Without accents first: to sort many on one letter takes the square of their number.
    seen = _visible_chars(unicodedata.normalize("NFKD", _visible_chars(text)))
    return " ".join(seen.casefold().split())


def _visible_chars(text: str) -> str:
    return "".join(
        char for char in text if char.isspace() or unicodedata.category(char) not in _UNSEEN
    )
