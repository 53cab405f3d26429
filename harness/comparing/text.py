"""A comparison for the terminal: plain text, 100 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from harness import numbers
from harness.comparing import words as words
from harness.comparing.comparison import Compared, Comparison, Row
from harness.printable import printable

_WIDTH = 100
_NAME = 30
_PAIRS = 3
"""Of more pairs only the deciding metric is shown, and what is shown to differ."""
_CHANGES = 12
_VALUE = 60


def text(found: Comparison) -> str:
    """Return the verdict, a table a pair of cells, and what changed between the two."""
    lines = [words.headline(found), ""]
    lines += _wrapped(f"before  {found.baseline.id}, {found.baseline.started or 'no date'}")
    lines += _wrapped(f"after   {found.run.id}, {found.run.started or 'no date'}")
    for pair in found.pairs:
        lines += ["", *_pair(found, pair)]
    apart = list(words.unshared(found))
    if apart:
        lines += ["", *(line for each in apart for line in _wrapped(each, "note: "))]
    if found.changes:
        lines += ["", f"Changed: {numbers.count(len(found.changes), 'thing')}"]
        for each in found.changes[:_CHANGES]:
            before, after = _short(each.before, _VALUE), _short(each.after, _VALUE)
            lines += _wrapped(f"{each.about} {each.what}: {before} → {after}", "  ")
        if len(found.changes) > _CHANGES:
            lines.append(f"  and {len(found.changes) - _CHANGES} more on the page")
    lines += ["", *_wrapped(words.method(found))]
    return "\n".join(printable(line) for line in lines)


def _pair(found: Comparison, pair: Compared) -> Iterator[str]:
    yield from _wrapped(words.title(pair))
    yield from _wrapped(" ".join(words.sentences(found, pair)), "  ")
    yield ""
    rows = [row for row in pair.rows if len(found.pairs) <= _PAIRS or _telling(found, row)]
    yield from _table(rows, "metric")
    if len(rows) < len(pair.rows):
        more = numbers.count(len(pair.rows) - len(rows), "more metric")
        yield f"  {more} on the page: none is shown to differ"
    shown = [row for row in pair.segments if row.difference.better or row.difference.worse]
    if shown:
        yield ""
        yield from _table(shown, "segment")
    lost, won = (numbers.count(len(some), "question") for some in (pair.lost, pair.won))
    yield f"  by {_short(found.by, 40)}: {lost} lost, {won} won"
    failed = pair.finished
    if not failed.identical and failed.difference.difference is not None:
        yield from _wrapped(
            f"failed: {_failed(failed.baseline)} → {_failed(failed.run)}, "
            f"{words.outcome(failed)} ({words.evidence(found, failed)})",
            "  ",
        )


def _telling(found: Comparison, row: Row) -> bool:
    return row.metric == found.by or row.difference.better or row.difference.worse


def _table(rows: Sequence[Row], what: str) -> Iterator[str]:
    yield f"  {what:<{_NAME}} {'before':>7} {'after':>6} {'change':>7}  {'95 % interval':<15} p"
    for row in rows:
        seen = row.difference
        name = row.metric if not row.segment else f"{row.segment}: {row.metric}"
        p = numbers.probability(seen.corrected)
        yield (
            f"  {_short(name, _NAME):<{_NAME}} {numbers.score(row.baseline):>7} "
            f"{numbers.score(row.run):>6} {numbers.difference(seen.difference, 3):>7}  "
            f"{numbers.between(seen.low, seen.high):<15} {p:<8} {words.outcome(row)}"
        )


def _failed(finished: float | None) -> str:
    return numbers.MISSING if finished is None else numbers.percentage(1 - finished)


def _wrapped(said: str, indent: str = "") -> list[str]:
    rest = " " * len(indent)
    return textwrap.wrap(said, _WIDTH, initial_indent=indent, subsequent_indent=rest) or [""]


def _short(said: str, longest: int) -> str:
    line = " ".join(said.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
