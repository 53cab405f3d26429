"""How many questions failed in the cells that a verdict names, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Callable

from harness import numbers
from harness.comparing.decision import Decision
from harness.statistics.difference import Difference


def failures(decision: Decision, name: Callable[[str], str], most: int) -> str:
    """Say how many questions failed in each cell that is named; "" where none did.

    Of those with something over the best, those beaten by failing more, and those not shown to be
    worse than it, `most` at most are named.
    """
    best, cheaper = decision.best, decision.cheaper
    if best is None:
        return ""
    named = [decision.against, cheaper.cell if cheaper else None]
    named += [*decision.ahead[:most], *decision.outlasted[:most], *decision.not_worse[:most]]
    mine, asked = decision.failed[best]
    others = [each for each in dict.fromkeys(named) if each and (mine or decision.failed[each][0])]
    if not (mine or others):
        return ""
    said = [f"{name(best)} failed {_share(mine, asked, numbers.count(asked, 'question'))}"]
    said += [f"{name(each)} {_compared(decision, each)}" for each in others]
    return f"{'; '.join(said)}."


def chance(found: Difference) -> str:
    """Return `p = 0.03`, corrected, in one piece."""
    p = numbers.probability(found.corrected)
    return f"p {p if p.startswith('<') else f'= {p}'}".replace(" ", "\u00a0")


def _compared(decision: Decision, other: str) -> str:
    failed, asked = decision.failed[other]
    share, found = _share(failed, asked, f"{asked:,}"), decision.finished[other]
    if not found.difference:
        return share
    shown = "shown" if found.better or found.worse else "not shown"
    more = "more" if found.difference > 0 else "fewer"
    return f"{share}, {shown} to be {more}, {chance(found)}"


def _share(failed: int, asked: int, questions: str) -> str:
    if not failed:
        return f"none of {questions}"
    share = numbers.percentage(failed / asked) if failed / asked >= 0.01 else "under 1\u00a0%"
    return f"{failed:,} of {questions} ({share})"
