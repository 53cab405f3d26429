"""The prompts that ship with the harness, a text file each, and how texts are put into any prompt.

A text from outside must not pose as the prompt around it: a line of it that looks like a label is
marked as quoted, and a tag of ours loses its bracket. No more can be done in a prompt: that a model
is not persuaded by what it reads cannot be promised.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_LABELS = ("answer", "context", "passage", "question", "reference", "statement", "text")
_START = r"(?<![^\n\v\f\r\x1c-\x1e\x85\u2028\u2029])"
_OF_TEMPLATE = re.compile(r"^[\W_]*([^\W\d_][^\n:{}<>]{0,39}?)[\W_]*[:：]", re.MULTILINE)
_TAG = re.compile(
    r"<(?=[^\w<>]{0,9}(?:answer|context|document|evidence|passage|question|reference)s?\b)",
    re.IGNORECASE,
)


@cache
def shipped(name: str) -> str:
    """Return the text of `NAME.txt`, without the line feed that ends the file."""
    return (Path(__file__).parent / f"{name}.txt").read_text("utf-8").removesuffix("\n")


def filled(template: str, **texts: object) -> str:
    """Return `template` with each of `texts` in the place of its name.

    A line of a text that could pass for a label of the template, or for one of those that shipped
    prompts have, begins with "> ".
    """
    label = _label(template)
    return template.format(
        **{
            place: label.sub("> ", each) if isinstance(each, str) else each
            for place, each in texts.items()
        }
    )


def untagged(text: str) -> str:
    """Return a text in which no tag of the prompts for drafting begins."""
    return _TAG.sub("&lt;", text)


@cache
def _label(template: str) -> re.Pattern[str]:
    """Return what matches in front of a line that looks like a label."""
    own = {re.escape(found.lower()) for found in _OF_TEMPLATE.findall(template)}
    words = "|".join(sorted({*_LABELS, *own}))
    return re.compile(
        rf"{_START}(?=(?:(?![\n\r])[\W_]){{0,9}}(?:{words})s?"
        r"(?:(?![\n\r])[\W_]){0,9}?[:：])",
        re.IGNORECASE,
    )
