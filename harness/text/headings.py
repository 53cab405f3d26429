"""Find the headings of a Markdown text, and those that apply at an offset."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>.*)$", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*))?$", re.MULTILINE)


Trail = tuple[int, list[str]]


@dataclass(frozen=True, slots=True)
class MarkdownHeading:
    """One heading: where its line starts, how many #s it has, and its words."""

    start: int
    level: int
    text: str


def find_headings(text: str) -> Iterator[MarkdownHeading]:
    """Yield the headings of a Markdown text, in order; those inside fenced code do not count."""
    fenced = _find_fences(text)
    starts = [start for start, _ in fenced]
    for match in _HEADING.finditer(text):
        before = bisect_right(starts, match.start()) - 1
        if before < 0 or match.start() >= fenced[before][1]:
            yield MarkdownHeading(match.start(), len(match[1]), _heading_text(match[2] or ""))


def _heading_text(text: str) -> str:
    """Return `text` without the #s that close a heading."""
    text = text.rstrip(" \t")
    bare = text.rstrip("#")
    return (bare if bare.endswith((" ", "\t")) else text).strip()


def is_heading(line: str) -> bool:
    """Return whether a line is a heading."""
    return _HEADING.fullmatch(line) is not None


def heading_trails(text: str) -> list[Trail]:
    """Return, for each heading in order, where it starts and the words of all open from there."""
    result: list[Trail] = []
    open_: list[MarkdownHeading] = []
    for heading in find_headings(text):
        open_ = [parent for parent in open_ if parent.level < heading.level]
        open_.append(heading)
        result.append((heading.start, [parent.text for parent in open_ if parent.text]))
    return result


def headings_above(trails: Sequence[Trail], place: int) -> list[str]:
    """Return the words of the headings that `place` stands under, the outermost first.

    A heading that starts at `place` belongs to the text there already, and is not above it.
    """
    before = bisect_left(trails, place, key=lambda trail: trail[0])
    return trails[before - 1][1] if before else []


def _find_fences(text: str) -> list[tuple[int, int]]:
    """Return the spans of fenced code; a fence that is never closed reaches to the end."""
    spans, opened = [], None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence["mark"].startswith(opened["mark"]) and not fence["info"].strip():
            spans.append((opened.start(), fence.end()))
            opened = None
    if opened is not None:
        spans.append((opened.start(), len(text)))
    return spans
