"""Find the tags of an HTML text.

Not the standard library's parser: it takes quadratic time for a run of broken tags, raises an
`AssertionError` for `<![@]>`, drops a script that never ends, and reads broken markup in other
ways from one version of Python to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_TAG = re.compile(
    r"""<(?: (?P<close>/)? (?P<name>[a-zA-Z][^\s/<>"']*)
             (?: (?: [^<>"'] | "[^"]*" | '[^']*' )*+ | [^<>]*+ ) >   # quoted, or a quote left open
           | [!?] (?: (?P<comment>--) | [^<>]*> ) )""",
    re.VERBOSE,
)
_RAW_TEXT_ELEMENTS = frozenset({"script", "style", "textarea", "title"})
"""What these hold is text, whatever it looks like."""


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag, or one comment or declaration, which has no name."""

    start: int
    end: int
    name: str
    kind: Literal["open", "close", "other"]


def find_tags(text: str) -> Iterator[Tag]:
    """Yield the tags of `text` in order; what only looks like one, unfinished, is text."""
    position = 0
    comments = True
    while match := _TAG.search(text, position):
        position = match.end()
        if match["comment"]:
            # Asked once and no more where there is none, or many open ones would take for ever.
            end = text.find("-->", position) if comments else -1
            comments = end >= 0
            if comments:
                position = end + len("-->")
                yield Tag(match.start(), position, "", "other")
            continue
        name = (match["name"] or "").lower()
        kind: Literal["open", "close"] = "close" if match["close"] else "open"
        yield Tag(match.start(), position, name, kind if name else "other")
        if name in _RAW_TEXT_ELEMENTS and kind == "open":
            closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(text, position)
            position = closing.start() if closing else len(text)
