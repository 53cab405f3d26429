"""Finds lines that repeat at the start or end of many documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.preflight.checks import MAX_EXAMPLES, CheckInput, Finding, Part, checks

_MAX_LINES = 3
"""So many lines from either end are looked at, but for headings and lines without a word."""
_MIN_SHARE, _MIN_DOCUMENTS = 0.3, 5
"""The share of documents, and how many, from which a line is one that repeats."""
_MAX_LINE_CHARS = 200
"""Characters of a line that are compared."""
_MAX_CHARS_READ = 4_096
"""Characters from either end of a document that are split into lines."""
_MAX_QUICK_CHARS = 10_000_000
"""Characters up to which a run without an embedding model reads the documents before it begins."""
_MAX_CHARS_SHOWN = 60
_WORD = re.compile(r"\w{2}")


@checks.register
@dataclass(frozen=True)
class Boilerplate:
    """Lines at the head or foot of over 30 % of the documents."""

    name: ClassVar[str] = "boilerplate"
    order: ClassVar[int] = 60
    reads: ClassVar[tuple[Part, ...] | None] = ("documents",)

    def is_expensive(self, run: CheckInput) -> bool:
        """Return whether there is much to read, and no model that takes longer."""
        return not run.embeds and run.prepared.corpus.characters > _MAX_QUICK_CHARS

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield each such line, the most frequent first."""
        documents = run.prepared.corpus.documents
        if len(documents) < _MIN_DOCUMENTS:
            return
        times = Counter(
            line for document in documents.values() for line in _edge_lines(document.text)
        )
        for line, count in times.most_common(MAX_EXAMPLES):
            if count < max(_MIN_DOCUMENTS, _MIN_SHARE * len(documents) + 1e-9):
                return
            excerpt = line if len(line) <= _MAX_CHARS_SHOWN else line[:_MAX_CHARS_SHOWN] + "…"
            yield Finding(
                self.name,
                "note",
                f"{count:,} of {len(documents):,} documents "
                f"({100 * count / len(documents):.0f} %) begin or end with the line {excerpt!r}",
                "leave such lines out of the corpus: they make chunks alike",
            )


def _edge_lines(text: str) -> set[str]:
    """Return the first and the last lines that hold a word; headings are alike by intent."""
    head = list(filter(_has_content, text[:_MAX_CHARS_READ].splitlines()))[:_MAX_LINES]
    foot = list(filter(_has_content, text[-_MAX_CHARS_READ:].splitlines()))[-_MAX_LINES:]
    return {" ".join(line.split())[:_MAX_LINE_CHARS] for line in (*head, *foot)}


def _has_content(line: str) -> bool:
    return _WORD.search(line) is not None and not line.lstrip().startswith("#")
