"""A decision in words: what to ship, how sure that is, and what money would say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness import numbers
from harness.comparing.decision import Cheaper, Decision, amount
from harness.report.failing import chance, failures
from harness.statistics.differences import Difference

_NAMED = 4
"""Cells that are named in one sentence; of more, how many there are is said."""
_IN_BOTH = "on the questions scored in both"


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
                [("", "Nothing but floors has a score, and floors are never recommended.")],
                None,
            )
        failing = failures(self.decision, self.name, _NAMED)
        failed = [("Failures.", failing)] if failing else []
        if not others:
            return Verdict(
                f"There is nothing to compare {self.name(best)} with.",
                [("", f"It reaches {self._reached(best)}."), *failed],
                best,
            )
        cheaper = self.decision.cheaper
        ship = best
        if self.decision.form == "none shown" and cheaper is not None and cheaper.warranted:
            ship = cheaper.cell
        said = [("", self._lead(best)), ("How sure.", self._sure(best)), *failed]
        if cheaper is not None:
            said.append(("If cost decides.", self._cost(best, cheaper)))
        return Verdict(self._headline(best, ship), said, ship)

    def _headline(self, best: str, ship: str) -> str:
        decision, name = self.decision, self.name(best)
        if decision.form == "beats baseline":
            return f"Ship {name}."
        if decision.form == "baseline is best":
            return f"Keep the baseline, {name}."
        if decision.form == "contested":
            return f"{name} {self._rank(best)}, but {self._contested(decision.ahead[0])}."
        if decision.form == "beats others":
            if decision.baseline is None:
                return f"Ship {name}."
            return f"{name} {self._rank(best)}, but is not shown to beat the baseline."
        taken = "" if ship == best else f" Take the cheaper, {self.name(ship)}."
        return f"No difference could be shown.{taken}"

    def _contested(self, other: str) -> str:
        """Say what another cell has over the best."""
        name = self.name(other)
        if not self.decision.others[other].worse:
            return f"fails more questions than {name}"
        if self.decision.above(other) < 0:
            return f"{name}, which is only a floor, is shown to score higher"
        return f"{name} is shown to score higher {_IN_BOTH}"

    def _rank(self, best: str) -> str:
        """Say that the best has the highest mean, with whom it shares it, what is not counted."""
        decision = self.decision
        others = [name for name in decision.means if name != best]
        tied = [name for name in others if decision.above(name) == 0]
        aside = any(decision.above(name) < 0 for name in others)
        mean = f"the highest mean{' of those that are no floor' if aside else ''}"
        return f"shares {mean} with {self._listed(tied)}" if tied else f"has {mean}"

    def _reached(self, cell: str) -> str:
        return f"{self.decision.metric} {self.score(cell)}"

    def _lead(self, best: str) -> str:
        decision, seen, against = self.decision, self.decision.seen, self.decision.against
        named = decision.form in ("none shown", "contested")
        said = f"{self.name(best) if named else 'It'} reaches {self._reached(best)}"
        if seen is None or against is None:
            return f"{said}."
        above = decision.above(against)
        other = f"{self._place(against)} {self.name(against)}"
        if seen.difference is None:
            return f"{said}. How far it is from {other} cannot be said: {seen.reason}."
        where = "the same as" if seen.difference == 0 else self._side(seen.difference)
        known = f"{where} {other} ({self._evidence(seen)})"
        both = f"on the {numbers.count(seen.n, 'question')} scored in both it is {known}."
        if seen.difference * above < 0:
            return f"{said}, the {'higher' if above > 0 else 'lower'} mean, but {both}"
        if seen.unpaired or decision.failed[best][0] or decision.failed[against][0]:
            return f"{said}; {both}"
        return f"{said}, {known}."

    def _place(self, other: str) -> str:
        if other == self.decision.baseline:
            return "the baseline"
        return "the floor" if self.decision.above(other) < 0 else "the next best"

    def _side(self, difference: float) -> str:
        size = numbers.score(abs(difference), self.digits)
        if float(size) == 0:
            size = f"less than {10**-self.digits:g}"
        return f"{size} {'above' if difference > 0 else 'below'}"

    def _evidence(self, seen: Difference) -> str:
        ends = numbers.between(seen.low, seen.high, self.digits)
        known = f"95 % interval {ends}" if seen.low is not None else f"no interval: {seen.reason}"
        return f"{known}, {chance(seen)}, {_unbroken(f'n = {seen.n:,}')}"

    def _sure(self, best: str) -> str:
        decision = self.decision
        count = len(decision.others)
        said = f"It is shown to be better than {len(decision.beaten)} of the {count} others"
        if count == 1:
            said = f"It is {'' if decision.beaten else 'not '}shown to be better than the other"
        torn = [name for name in decision.ahead if decision.others[name].better]
        if torn:
            but = (
                f"shown to score higher than {self._listed(torn)}, but also to fail more questions"
            )
            said = f"It is {but}" if count == 1 else f"{said}. It is {but}"
        if decision.outlasted:
            who = "" if count == 1 else f"than {self._listed(decision.outlasted)} "
            said += f" ({who}by failing fewer questions alone)"
        said += "."
        rank = self._rank(best)
        contested = decision.form == "contested"
        in_headline = contested or (decision.form == "beats others" and decision.baseline)
        if decision.form == "none shown" or (rank != "has the highest mean" and not in_headline):
            said = f"{self.name(best)} {rank}. {said}"
        ahead = [name for name in decision.ahead if decision.others[name].worse]
        unsaid = [name for name in ahead if not (contested and name == decision.ahead[0])]
        if unsaid:
            are = "is" if len(unsaid) == 1 else "are"
            said += f" {self._listed(unsaid)} {are} shown to score higher {_IN_BOTH}."
        unclear = [name for name in decision.not_worse if name not in ahead]
        if unclear and count > 1:
            said += f" Not shown to be worse than it: {self._listed(unclear)}."
        return said + self._hidden(unclear)

    def _hidden(self, unclear: Sequence[str]) -> str:
        """Say what could have been seen at this n: "not shown" is not "equal"."""
        decision, said = self.decision, ""
        shown = {name: decision.others[name] for name in unclear}
        alike = [
            name for name, each in shown.items() if each.identical and name != decision.against
        ]
        if alike:
            said += f" Identical to it in every score: {self._listed(alike)}."
        known = {name: each.visible for name, each in shown.items() if each.visible is not None}
        if known:
            greatest = max(known.values())
            size = numbers.score(greatest, self.digits)
            often = "four times in five"
            if float(size) == 0:
                size, often = f"{10**-self.digits:g}", f"more than {often}"
            n = min(shown[name].n for name in known)
            said += (
                f" With {_unbroken(f'n = {n:,}')}, a difference of {size} would be found {often}, "
                "a smaller one less often: not shown is not equal."
            )
        few = [name for name, each in shown.items() if each.n and decision.too_few(name)]
        if few:
            whom = "" if len(few) == len(unclear) else f" from {self._listed(few)}"
            unit = "questions" if all(decision.units[x] == shown[x].n for x in few) else "clusters"
            said += f" With this few {unit} no difference{whom}, however large, could be shown."
        return said

    def _cost(self, best: str, cheaper: Cheaper) -> str:
        seen, kind = cheaper.difference, self.decision.cost
        now, then = (
            amount(kind, each, self.decision.currency) for each in (cheaper.best_cost, cheaper.cost)
        )
        price = f"{then} a question in place of {now}"
        name, margin = self.name(cheaper.cell), self.decision.margin
        worse = f"less than {margin:g} worse" if margin else "no worse"
        if cheaper.warranted:
            known = f"95 % interval of the difference {self._ends(seen)}"
            if seen.low is None:
                known = f"the scores are identical, {_unbroken(f'n = {seen.n:,}')}"
            return f"{name} takes {price}, and is {worse} ({known})."
        if cheaper.failing > margin:
            return f"{name} takes {price}, but failed more questions than {self.name(best)}."
        more = "more questions would"
        if cheaper.questions is not None:
            more = f"about {numbers.count(cheaper.questions, 'question')} would"
        elif seen.identical:
            more = "the scores are identical"
        at = _unbroken(f"n = {seen.n:,}")
        return f"Whether {name} ({price}) is {worse} cannot be told at {at}; {more}."

    def _ends(self, seen: Difference) -> str:
        return numbers.between(seen.low, seen.high, self.digits)

    def _listed(self, cells: Sequence[str]) -> str:
        names = [self.name(cell) for cell in cells]
        if len(names) > _NAMED:
            return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _unbroken(text: str) -> str:
    """Return `text` with spaces at which no line breaks."""
    return text.replace(" ", "\u00a0")
