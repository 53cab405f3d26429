"""HTML: one chunk a section, as the author divided the page."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt, Le

from harness import limits
from harness.chunkers import ChunkerOptions, chunkers
from harness.text import cuts
from harness.text.markup import Tag, find_tags
from harness.text.sentences import find_sentences

_BLOCK = re.compile(
    "address|article|aside|blockquote|body|caption|dd|details|dialog|div|dl|dt|fieldset|figcaption"
    "|figure|footer|form|h[1-6]|head|header|hgroup|html|legend|li|main|menu|nav|ol|optgroup|option"
    "|p|pre|section|select|summary|table|tbody|td|tfoot|th|thead|tr|ul"
)
_UNCLOSED = frozenset(
    {"dd", "dt", "li", "option", "p", "tbody", "td", "tfoot", "th", "thead", "tr"}
)
"""What a next one of its kind ends, as its end tag may be left out."""
_BREAKS = frozenset({"br", "hr"})
_HEADING = re.compile("h([1-6])")
_UNSEEN = frozenset({"script", "style", "title"})
_MAX_SIZE_FACTOR = 1.25
"""So many times the size may tags and comments without text make a chunk."""
_BLANK_LINE = re.compile(r"\n\s*\n")


@chunkers.register
@dataclass(frozen=True)
class HtmlSections(ChunkerOptions):
    """A section under a heading down to h`depth`; one over `size` is cut between its blocks.

    Paragraphs, lists, tables and their like stay whole where they fit in `size` characters, the
    markup's own included, and are cut between sentences where they do not; no tag or comment is
    ever cut, and a chunk of nothing else joins the one beside it. A heading stays with the text
    below it, and one with nothing but a heading below it joins the next section. Markup is kept
    as it stands; text without any is cut at blank lines, then between sentences.
    """

    size: Annotated[int, Gt(0)] = 1500
    depth: Annotated[int, Ge(1), Le(6)] = 3

    name: ClassVar[str] = "html"
    version: ClassVar[int] = 2

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the sections, without the white space at their ends."""
        page = _parse_page(text, self.depth)
        plain = _blank_tags(text, page.tags)
        blank = [match.start() for match in _BLANK_LINE.finditer(plain)]
        levels = [*page.blocks, blank, _sentence_ends(plain, page.tags)]
        span: tuple[int, int] | None = None
        for start, end in self._pieces(text, page, levels):
            # Where it may, what has no text joins its neighbour: alone it answers no question.
            textless = span and (plain[slice(*span)].isspace() or plain[start:end].isspace())
            if span and textless and end - span[0] <= self.size * _MAX_SIZE_FACTOR:
                span = span[0], end
                continue
            if span:
                yield span
            span = start, end
        if span:
            yield span

    def _pieces(
        self, text: str, page: _Page, levels: Sequence[cuts.Places]
    ) -> Iterator[tuple[int, int]]:
        start = 0
        for edge, end in pairwise([0, *page.headings, len(text)]):
            body = bisect_left(page.body, edge) < bisect_left(page.body, end)
            if body or end == len(text):
                yield from cuts.cut_pieces(text, start, end, levels, self.size)
                start = end


@dataclass
class _Page:
    """Offsets, each list in order."""

    tags: list[Tag] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)
    """Where a section starts: at its heading, or at the tags right before it."""
    body: list[int] = field(default_factory=list)
    """Where text starts that is no heading."""
    blocks: list[list[int]] = field(default_factory=list)
    """Where a block starts or ends, by how many others it stands in."""


def _parse_page(text: str, depth: int) -> _Page:
    page = _Page()
    within: list[str] = []
    unseen = ""  # the heading, title or script that is open
    start = done = 0  # of the run of tags that open; of what was read
    for tag in find_tags(text):
        if not text[done : tag.start].isspace() and tag.start > done:
            if not unseen:
                page.body.append(done)
            start = tag.start
        page.tags.append(tag)
        heading = _HEADING.fullmatch(tag.name)
        if heading and tag.kind == "open" and int(heading[1]) <= depth:
            page.headings.append(start)
        if heading or tag.name in _UNSEEN or _BLOCK.fullmatch(tag.name):
            hides = tag.kind == "open" and (heading or tag.name in _UNSEEN)
            unseen = tag.name if hides else ""
        _nest(tag, within, page.blocks)
        done = tag.end
        start = start if tag.kind == "open" and _BLOCK.fullmatch(tag.name) else done
    if text[done:].strip() and not unseen:
        page.body.append(done)
    return page


def _nest(tag: Tag, within: list[str], blocks: list[list[int]]) -> None:
    """Note where `tag` lets its text be cut; `within` are the names of the blocks around it."""
    if tag.name in _BREAKS:
        _add_edge(blocks, len(within), tag.end)
    elif _BLOCK.fullmatch(tag.name) and tag.kind == "open":
        if within[-1:] == ["p"]:
            within.pop()
        if tag.name in _UNCLOSED and within[-1:] == [tag.name]:
            within.pop()
        _add_edge(blocks, len(within), tag.start)
        if len(within) < limits.MAX_HTML_DEPTH:
            within.append(tag.name)
    elif tag.name in within and tag.kind == "close":
        while within.pop() != tag.name:
            pass
        _add_edge(blocks, len(within), tag.end)


def _add_edge(blocks: list[list[int]], depth: int, place: int) -> None:
    while len(blocks) <= depth:
        blocks.append([])
    blocks[depth].append(place)


def _blank_tags(text: str, page_tags: Sequence[Tag]) -> str:
    """Return `text` with each tag replaced by as many spaces."""
    parts, done = [], 0
    for tag in page_tags:
        parts += [text[done : tag.start], " " * (tag.end - tag.start)]
        done = tag.end
    return "".join([*parts, text[done:]])


def _sentence_ends(plain: str, page_tags: Sequence[Tag]) -> list[int]:
    """Return where sentences end, behind the tags that end with them."""
    closing = {tag.start: tag.end for tag in page_tags if tag.kind != "open"}
    ends = []
    for _, end in find_sentences(plain):
        while end in closing:
            end = closing[end]
        ends.append(end)
    return ends
