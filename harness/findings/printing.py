"""Findings as a person reads them in a terminal, and as JSON."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from harness import numbers
from harness.findings import Finding
from harness.printable import printable

_WIDTH = 100
_INDENT = " " * 17


def shown(findings: Sequence[Finding]) -> str:
    """Return findings in lines of 100 columns, those of one level together."""
    return "\n".join(_lines(findings))


def as_json(findings: Sequence[Finding]) -> str:
    """Return findings as JSON: a list, with the fields of `Finding`."""
    return json.dumps([asdict(each) for each in findings], indent=1, ensure_ascii=False)


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    counts = Counter(each.level for each in findings)
    said = ", ".join(numbers.count(number, level) for level, number in counts.items())
    yield f"  checks: {said or 'nothing found'}"
    last = None
    for each in findings:
        if each.level != last:
            yield f"  {each.level}s" if counts[each.level] > 1 else f"  {each.level}"
        last = each.level
        yield from _filled(f"    {each.check:<13}", each.text)
        if each.examples:
            yield from _filled(_INDENT, f"in: {', '.join(each.examples)}")
        if each.remedy:
            yield from _filled(_INDENT, f"→ {each.remedy}")


def _filled(first: str, text: str) -> list[str]:
    return textwrap.wrap(
        printable(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=_INDENT,
        break_on_hyphens=False,
    )
