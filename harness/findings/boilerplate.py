"""Lines that stand at the head or the foot of many documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.findings import EXAMPLES, Finding, Look, Part, checks

_LINES = 3
"""So many lines from either end are looked at, but for headings and lines without a word."""
_SHARE, _FEWEST = 0.3, 5
"""The share of documents, and how many, from which a line is one that repeats."""
_LONGEST = 200
"""Characters of a line that are compared."""
_READ = 4_096
"""Characters from either end of a document that are split into lines."""
_QUICK = 10_000_000
"""Characters up to which a run without an embedding model reads the documents before it begins."""
_SHOWN = 60
_WORD = re.compile(r"\w{2}")


@checks.register
@dataclass(frozen=True)
class Boilerplate:
    """Lines at the head or foot of over 30 % of the documents."""

    name: ClassVar[str] = "boilerplate"
    order: ClassVar[int] = 60
    reads: ClassVar[tuple[Part, ...] | None] = ("documents",)

    def dear(self, look: Look) -> bool:
        """Return whether there is much to read, and no model that takes longer."""
        return not look.embeds and look.prepared.corpus.characters > _QUICK

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield each such line, the most frequent first."""
        documents = look.prepared.corpus.documents
        if len(documents) < _FEWEST:
            return
        times = Counter(line for each in documents.values() for line in _ends(each.text))
        for line, count in times.most_common(EXAMPLES):
            if count < max(_FEWEST, _SHARE * len(documents) + 1e-9):
                return
            shown = line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
            yield Finding(
                self.name,
                "note",
                f"{count:,} of {len(documents):,} documents "
                f"({100 * count / len(documents):.0f} %) begin or end with the line {shown!r}",
                "leave such lines out of the corpus: they make chunks alike",
            )


def _ends(text: str) -> set[str]:
    """Return the first and the last lines that hold a word; headings are alike by intent."""
    head = list(filter(_telling, text[:_READ].splitlines()))[:_LINES]
    foot = list(filter(_telling, text[-_READ:].splitlines()))[-_LINES:]
    return {" ".join(line.split())[:_LONGEST] for line in (*head, *foot)}


def _telling(line: str) -> bool:
    return _WORD.search(line) is not None and not line.lstrip().startswith("#")
