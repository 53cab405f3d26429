"""The outcomes of a gate's rules in words, with their figures."""

from __future__ import annotations

from typing import Literal

from harness import numbers
from harness.gate.verdicts import Seen
from harness.rules import Drop, Segment

Form = Literal["shown", "identical", "interval", "not seen", "strict", "by chance", "small"]


def of_drop(rule: Drop, seen: Seen, form: Form) -> str:
    """Return what a drop rule saw, and what follows."""
    found = seen.difference
    digits = 3
    change = (
        f"{numbers.score(seen.baseline)} to {numbers.score(seen.run)}, "
        f"{numbers.difference(found.difference, digits)}"
    )
    ends = f" ({numbers.between(found.low, found.high, digits)})" if found.low is not None else ""
    n = f"n = {found.n}"
    if found.unpaired:
        n += f", {found.unpaired} scored on one side alone"
    tested = (
        f"one-sided p = {numbers.probability(seen.corrected)}, "
        f"corrected in a family of {found.family}"
    ).replace("= <", "<")
    limit = f"{numbers.MINUS}{rule.drop_more_than:g}" if rule.drop_more_than else "0"
    most = f"{rule.drop_more_than:g}"
    reasons: dict[Form, str] = {
        "shown": f"it fell by more than {most}, and that it fell is shown: {tested}",
        "identical": "identical question by question",
        "interval": f"the interval lies above {limit}",
        "not seen": f"no drop seen of more than {most}; {_caught(seen)}",
        "strict": f"the interval does not lie above {limit}, as a strict rule asks"
        f"{'' if rule.cannot_tell == 'fail' else '; by `cannot_tell: pass` it may'}",
        "by chance": f"it fell by more than {most}, which may be chance: {tested}; {_caught(seen)}",
        "small": f"that it fell is shown ({tested}), but not that it fell by more than {most}",
    }
    return f"{change}{ends}, {n}: {reasons[form]}"


def _caught(seen: Seen) -> str:
    n = f"n = {seen.difference.n}"
    if seen.caught is not None:
        return f"the smallest that {n} would have caught is {numbers.score(seen.caught)}"
    among = "" if seen.clusters is None else f" in {numbers.count(seen.clusters, 'cluster')}"
    return f"{n}{among} is too few to catch any drop"


def nothing(reason: str) -> str:
    """Return that a drop rule had nothing to compare."""
    return f"nothing to compare: {reason}"


def unasked(segment: Segment) -> str:
    """Return that a sample has no question that a drop rule is about."""
    return f"nothing to compare: no question of {segment} was drawn"


def of_mean(value: float | None, low: float | None, high: float | None, least: float) -> str:
    """Return how a mean stands to its limit; the interval is said, and decides nothing."""
    if value is None:
        return "no question was scored"
    ends = f" ({numbers.interval(low, high)})" if low is not None else ""
    side = "below" if value < least - 1e-9 else "at or above"
    said = f"the mean, {numbers.score(value)}{ends}, is {side} {least:g}"
    if low is not None and high is not None and low < least <= high:
        said += ", which the interval holds"
    return said


def of_cost(kind: str, value: float | None, most: float) -> str:
    """Return what a question took, and how that stands to its limit."""
    if value is None:
        return f"{kind} {'is' if kind == 'money' else 'are'} not known of every question"
    shown = numbers.seconds(value) if kind == "seconds" else f"{value:,.0f} tokens"
    if kind == "money":
        shown = numbers.money(value, "").strip()
    which = "the median" if kind == "seconds" else "the mean"
    return f"{which} of a question, {shown}, is {'over' if value > most else 'within'} {most:g}"


def of_failures(failed: int, asked: int) -> str:
    """Return how many questions failed."""
    return f"{failed} of {numbers.count(asked, 'question')} failed"


def of_faults(cell: str, failed: int, asked: int, bound: str) -> str:
    """Return that too much of a cell failed for anything to be said of it."""
    return (
        f"{cell}: {of_failures(failed, asked)}, more than `{bound}` allows; "
        "a night of faults says nothing of quality: find out why, and run it again"
    )


def of_more_failures(cell: str, more: int, fewer: int, p: float) -> str:
    """Return that more questions failed than in the baseline."""
    tested = f"p = {numbers.probability(p)}".replace("= <", "<")
    return (
        f"{cell}: more questions failed than in the baseline: {more} that did not there, "
        f"{fewer} the other way ({tested})"
    )
