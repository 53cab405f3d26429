"""A decision in words: what to ship, how sure that is, and what money would say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness import numbers
from harness.decision import Cheaper, Decision
from harness.differences import Difference

_UNITS = {"tokens": "tokens", "seconds": "seconds", "money": "money"}
_NAMED = 4
"""Cells that are named in one sentence; of more, how many there are is said."""


@dataclass(frozen=True)
class Verdict:
    """What a report says first; `ship` is the full name of the cell it is about, None for none.

    `sentences` are pairs of a label and a text; the first has no label and follows the headline.
    """

    headline: str
    sentences: Sequence[tuple[str, str]]
    ship: str | None

    @property
    def text(self) -> str:
        """Headline and sentences as one paragraph."""
        said = [" ".join(filter(None, each)) for each in self.sentences]
        return " ".join([self.headline, *said])


@dataclass(frozen=True)
class Words:
    """Puts a decision into words; `name` shortens a cell's name, `score` says its mean."""

    decision: Decision
    name: Callable[[str], str]
    score: Callable[[str], str]
    digits: int

    def verdict(self) -> Verdict:
        """Return the verdict, in the form that the decision has."""
        best, others = self.decision.best, self.decision.others
        if best is None:
            return Verdict(
                "There is nothing to ship.",
                [("", "No cell has a score, but for floors: floors are never recommended.")],
                None,
            )
        if not others:
            return Verdict(
                f"There is nothing to compare {self.name(best)} with.",
                [("", f"It reaches {self._reached(best)}.")],
                best,
            )
        cheaper = self.decision.cheaper
        ship = best
        if self.decision.form == "beats baseline":
            headline = f"Ship {self.name(best)}."
        elif self.decision.form == "baseline is best":
            headline = f"Keep the baseline, {self.name(best)}."
        elif self.decision.form == "beats others":
            headline = f"{self.name(best)} scores highest, but is not shown to beat the baseline."
            if self.decision.baseline is None:
                headline = f"Ship {self.name(best)}."
        elif cheaper is not None and cheaper.warranted:
            ship = cheaper.cell
            headline = f"No difference could be shown. Take the cheapest, {self.name(ship)}."
        else:
            headline = "No difference could be shown."
        said = [("", self._lead(best)), ("How sure.", self._sure())]
        if cheaper is not None:
            said.append(("If cost decides.", self._cost(cheaper)))
        return Verdict(headline, said, ship)

    def _reached(self, cell: str) -> str:
        return f"{self.decision.metric} {self.score(cell)}"

    def _lead(self, best: str) -> str:
        seen = self.decision.seen
        against = self.decision.against
        who = "It" if self.decision.form != "none shown" else self.name(best)
        said = f"{who} reaches {self._reached(best)}"
        if seen is None or seen.difference is None or against is None:
            return f"{said}."
        side = "above" if seen.difference > 0 else "below"
        place = f"the {'baseline' if against == self.decision.baseline else 'next best'}"
        if seen.difference == 0:
            return f"{said}, the same as {place} {self.name(against)} ({self._evidence(seen)})."
        size = numbers.score(abs(seen.difference), self.digits)
        return f"{said}, {size} {side} {place} {self.name(against)} ({self._evidence(seen)})."

    def _evidence(self, seen: Difference) -> str:
        ends = numbers.between(seen.low, seen.high, self.digits)
        known = f"95 % interval {ends}" if seen.low is not None else f"no interval: {seen.reason}"
        p = numbers.probability(seen.corrected)
        is_p = p if p.startswith("<") else f"= {p}"
        return f"{known}, {_unbroken(f'p {is_p}')}, {_unbroken(f'n = {seen.n:,}')}"

    def _sure(self) -> str:
        decision = self.decision
        count = len(decision.others)
        said = f"It is shown to be better than {len(decision.beaten)} of the {count} others."
        if count == 1:
            said = f"It is {'' if decision.beaten else 'not '}shown to be better than the other."
        if decision.form == "none shown" and decision.best is not None:
            said = f"{self.name(decision.best)} has the highest mean. {said}"
        unclear = decision.not_worse
        if unclear and count > 1:
            said += f" Not shown to be worse than it: {self._listed(unclear)}."
        if unclear:
            said += self._hidden(unclear)
        return said

    def _hidden(self, unclear: Sequence[str]) -> str:
        """Say what could have been seen at this n: "not shown" is not "equal"."""
        shown = [self.decision.others[name] for name in unclear]
        known = [each.visible for each in shown if each.visible is not None]
        if not known:
            return " With this few questions no difference, however large, could be shown."
        size = numbers.score(max(known), self.digits)
        n = min(each.n for each in shown)
        hidden = f"a difference under {size} mostly stays hidden"
        return f" With {_unbroken(f'n = {n:,}')}, {hidden}: not shown is not equal."

    def _cost(self, cheaper: Cheaper) -> str:
        seen, kind = cheaper.difference, self.decision.cost or ""
        now, then = _amount(kind, cheaper.best_cost), _amount(kind, cheaper.cost)
        price = f"{then} a question in place of {now}"
        ends = numbers.between(seen.low, seen.high, self.digits)
        margin = f"{self.decision.margin:g}"
        if cheaper.warranted:
            return (
                f"{self.name(cheaper.cell)} takes {price}, and is less than {margin} worse "
                f"(95 % interval of the difference {ends})."
            )
        more = "more questions would"
        if cheaper.questions is not None:
            more = f"about {cheaper.questions:,} questions would"
        return (
            f"Whether {self.name(cheaper.cell)} ({price}) is less than {margin} worse cannot be "
            f"told at {_unbroken(f'n = {seen.n:,}')}; {more}."
        )

    def _listed(self, cells: Sequence[str]) -> str:
        names = [self.name(cell) for cell in cells]
        if len(names) > _NAMED:
            return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _amount(kind: str, cost: float) -> str:
    return numbers.seconds(cost) if kind == "seconds" else f"{cost:,.0f} {_UNITS[kind]}"


def _unbroken(text: str) -> str:
    """Return `text` with spaces at which no line breaks."""
    return text.replace(" ", "\u00a0")
