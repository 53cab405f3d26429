"""Finds lines that repeat at the start or end of many documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from harness.preflight.checks.check_input import MAX_EXAMPLES, CheckInput, Finding

_MAX_LINES = 3
"""So many lines from either end are looked at, but for headings and lines without a word."""
_MIN_SHARE, _MIN_DOCUMENTS = 0.3, 5
"""The share of documents, and how many, from which a line is one that repeats."""
_MAX_LINE_CHARS, _MAX_CHARS_SHOWN = 200, 60
"""Characters of a line that are compared, and shown."""
_MAX_CHARS_READ = 4_096
"""Characters from either end of a document that are split into lines."""
_MAX_QUICK_CHARS = 10_000_000
"""Characters up to which a run without an embedding model reads the documents before it begins."""
_WORD = re.compile(r"\w{2}")


def is_expensive(run: CheckInput) -> bool:
    """Return whether there is much to read, and no model that takes longer."""
    return not run.embeds and run.prepared.corpus.characters > _MAX_QUICK_CHARS


def find_repeated_lines(run: CheckInput) -> Iterator[Finding]:
    """Yield each line at the head or foot of over 30 % of the documents, most frequent first."""
    documents = run.prepared.corpus.documents
    if len(documents) < _MIN_DOCUMENTS:
        return
    times = Counter(line for document in documents.values() for line in _edge_lines(document.text))
    for line, count in times.most_common(MAX_EXAMPLES):
        if count < max(_MIN_DOCUMENTS, _MIN_SHARE * len(documents) + 1e-9):
            return
        excerpt = line if len(line) <= _MAX_CHARS_SHOWN else line[:_MAX_CHARS_SHOWN] + "…"
        yield Finding(
            "boilerplate",
            "note",
            f"{count:,} of {len(documents):,} documents "
            f"({100 * count / len(documents):.0f} %) begin or end with the line {excerpt!r}",
            "leave such lines out of the corpus: they make chunks alike",
        )


def _edge_lines(text: str) -> set[str]:
    """Return the first and the last lines that hold a word; headings are alike by intent."""
    head, foot = (
        [line for line in part.splitlines() if _WORD.search(line) and line.lstrip()[0] != "#"]
        for part in (text[:_MAX_CHARS_READ], text[-_MAX_CHARS_READ:])
    )
    lines = (*head[:_MAX_LINES], *foot[-_MAX_LINES:])
    return {" ".join(line.split())[:_MAX_LINE_CHARS] for line in lines}
