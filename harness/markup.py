"""Where the tags of HTML stand.

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
_RAW = frozenset({"script", "style", "textarea", "title"})
"""What these hold is text, whatever it looks like."""


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag, or one comment or declaration, which has no name."""

    start: int
    end: int
    name: str
    kind: Literal["open", "close", "other"]


def tags(text: str) -> Iterator[Tag]:
    """Yield the tags of `text` in order; what only looks like one, unfinished, is text."""
    at = 0
    comments = True
    while found := _TAG.search(text, at):
        at = found.end()
        if found["comment"]:
            # Asked once and no more where there is none, or many open ones would take for ever.
            end = text.find("-->", at) if comments else -1
            comments = end >= 0
            if comments:
                at = end + len("-->")
                yield Tag(found.start(), at, "", "other")
            continue
        name = (found["name"] or "").lower()
        kind: Literal["open", "close"] = "close" if found["close"] else "open"
        yield Tag(found.start(), at, name, kind if name else "other")
        if name in _RAW and kind == "open":
            closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(text, at)
            at = closing.start() if closing else len(text)
