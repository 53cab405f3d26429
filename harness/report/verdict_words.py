"""Puts the decision of a run into words: which cell to ship, how sure that is, and its cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.comparison.decision import Decision, format_cost
from harness.report import phrases
from harness.text import numbers

_MAX_NAMED = 4
"""Cells that are named in one sentence; of more, how many there are is said."""
_IN_BOTH = "on the questions scored in both"


@dataclass(frozen=True)
class VerdictText:
    """What a report says first; `ship` is the full name of the cell it is about, None for none.

    `sentences` are pairs of a label and a text; the first has no label and follows the headline.
    """

    headline: str
    sentences: Sequence[tuple[str, str]]
    ship: str | None

    @property
    def text(self) -> str:
        """Headline and sentences as one paragraph."""
        return " ".join([self.headline, self.details])

    @property
    def details(self) -> str:
        """The sentences as one paragraph."""
        return " ".join(f"{label} {text}".strip() for label, text in self.sentences)


@dataclass(frozen=True)
class VerdictWords:
    """Puts a decision into words; `name` shortens a cell's name, `score` says its mean."""

    decision: Decision
    name: Callable[[str], str]
    score: Callable[[str], str]
    digits: int
    unscored: str = ""
    """Why the deciding metric has no mean in any cell."""

    def verdict(self) -> VerdictText:
        """Return the verdict, in the form that the decision has."""
        decision, best = self.decision, self.decision.best
        if not decision.means:
            text = f"{decision.metric} scored no question: {self.unscored}."
            return VerdictText("Cannot tell which configuration to ship.", [("", text)], None)
        if best is None:
            text = "Nothing but floors has a score, and floors are never recommended."
            return VerdictText("There is nothing to ship.", [("", text)], None)
        sentences = [("", f"It reaches {self._score_text(best)}.")]
        headline = f"There is nothing to compare {self.name(best)} with."
        if decision.others:
            headline = self._headline(best) + self._worse_note()
            sentences = [
                ("", self._lead(best)),
                ("Worse at.", self._worse_metrics()),
                ("How sure.", self._confidence(best)),
                ("At equal text.", self._equal_text(best)),
            ]
        sentences += [("Failures.", self._failures(best)), ("If cost decides.", self._cost(best))]
        return VerdictText(headline, [one for one in sentences if one[1]], decision.ship)

    def _headline(self, best: str) -> str:
        decision, name = self.decision, self.name(best)
        if decision.form == "baseline is best":
            return f"Keep the baseline, {name}."
        if decision.form == "contested":
            other = decision.ahead[0]
            reason = f"{self.name(other)} is shown to score higher {_IN_BOTH}"
            if not decision.others[other].worse:
                reason = f"fails more questions than {self.name(other)}"
            elif decision.lead_over(other) < 0:
                reason = f"{self.name(other)}, which is only a floor, is shown to score higher"
            return f"{name} {self._rank(best)}, but {reason}."
        if decision.form == "none shown":
            ship = decision.ship or best
            cheaper = "" if ship == best else f" Take the cheaper, {self.name(ship)}."
            return f"No difference could be shown.{cheaper}"
        if decision.form == "beats others" and decision.baseline is not None:
            return f"{name} {self._rank(best)}, but is not shown to beat the baseline."
        return f"Ship {name}."

    def _worse_note(self) -> str:
        """Say in the headline at what the recommended cell is shown to be worse."""
        names, other = [*self.decision.worse_at], self.decision.worse_than
        if not names or other is None:
            return ""
        metrics = numbers.count(len(names), "other metric")
        if len(names) <= _MAX_NAMED:
            metrics = phrases.join_names(names)
        return f" It is worse than {self._other_name(other)} at {metrics}."

    def _worse_metrics(self) -> str:
        decision = self.decision
        if not decision.worse_at:
            return ""
        listed = "; ".join(
            self._signed(metric, seen.difference, seen.low, seen.high)
            for metric, seen in decision.worse_at.items()
        )
        return f"Shown against {self._other_name(decision.worse_than or '')}: {listed}."

    def _signed(self, metric: str, *difference: float | None) -> str:
        value, low, high = difference
        digits = numbers.enough_digits(difference, self.digits)
        return (
            f"{metric} {numbers.difference(value, digits)} ({numbers.between(low, high, digits)})"
        )

    def _other_name(self, other: str) -> str:
        return "the baseline" if other == self.decision.baseline else self.name(other)

    def _equal_text(self, best: str) -> str:
        """Say where another chunker is ahead when every cell gives the model as much to read."""
        equal = self.decision.equal_text
        if equal is None or equal.first == best or best not in equal.means:
            return ""
        first, ours = equal.means[equal.first], equal.means[best]
        if first - ours < 10**-self.digits / 2:
            return ""
        place = 1 + sum(mean > ours for mean in equal.means.values())
        return (
            f"The order turns round: by {equal.metric} {self.name(equal.first)} reaches "
            f"{numbers.score(first, self.digits)} and {self.name(best)} "
            f"{numbers.score(ours, self.digits)}, place {place} of the "
            f"{len(equal.means)} chunkers. Larger chunks give the model more to read."
        )

    def _rank(self, best: str) -> str:
        """Say that the best has the highest mean, with whom it shares it, what is not counted."""
        leads = {name: self.decision.lead_over(name) for name in self.decision.means}
        tied = [name for name, lead in leads.items() if lead == 0 and name != best]
        floors = " of those that are no floor" if any(lead < 0 for lead in leads.values()) else ""
        shared = f" with {self._list_names(tied)}" if tied else ""
        return f"{'shares' if tied else 'has'} the highest mean{floors}{shared}"

    def _score_text(self, cell: str) -> str:
        return f"{self.decision.metric} {self.score(cell)}"

    def _lead(self, best: str) -> str:
        """Say what the best reaches, and how far that is from the cell it is held against."""
        decision, seen, against = self.decision, self.decision.seen, self.decision.against
        says_name = decision.form in ("none shown", "contested")
        lead = f"{self.name(best) if says_name else 'It'} reaches {self._score_text(best)}"
        if seen is None or against is None:
            return f"{lead}."
        above = decision.lead_over(against)
        role = "the floor" if above < 0 else "the next best"
        role = "the baseline" if against == decision.baseline else role
        other = f"{role} {self.name(against)}"
        if seen.difference is None:
            return f"{lead}. How far it is from {other} cannot be said: {seen.reason}."
        size = numbers.score(abs(seen.difference), self.digits)
        size = size if float(size) else f"less than {10**-self.digits:g}"
        where = f"{size} {'above' if seen.difference > 0 else 'below'}"
        where = where if seen.difference else "the same as"
        comparison = f"{where} {other} ({phrases.describe_evidence(seen, self.digits)})"
        on_shared = f"on the {numbers.count(seen.n, 'question')} scored in both it is {comparison}."
        if seen.difference * above < 0:
            return f"{lead}, the {'higher' if above > 0 else 'lower'} mean, but {on_shared}"
        if seen.unpaired or decision.failed[best][0] or decision.failed[against][0]:
            return f"{lead}; {on_shared}"
        return f"{lead}, {comparison}."

    def _confidence(self, best: str) -> str:
        """Say which cells the best is shown to be better than, and which not."""
        decision, count = self.decision, len(self.decision.others)
        text = f"It is shown to be better than {len(decision.beaten)} of the {count} others"
        if count == 1:
            text = f"It is {'' if decision.beaten else 'not '}shown to be better than the other"
        if torn := [name for name in decision.ahead if decision.others[name].better]:
            but = f"shown to score higher than {self._list_names(torn)}, but also to fail more"
            text = f"It is {but} questions" if count == 1 else f"{text}. It is {but} questions"
        if by_failures := decision.beaten_by_failures:
            who = "" if count == 1 else f"than {self._list_names(by_failures)} "
            text += f" ({who}by failing fewer questions alone)"
        text += "."
        contested, rank = decision.form == "contested", self._rank(best)
        in_headline = contested or (decision.form == "beats others" and decision.baseline)
        if decision.form == "none shown" or (rank != "has the highest mean" and not in_headline):
            text = f"{self.name(best)} {rank}. {text}"
        ahead = [name for name in decision.ahead if decision.others[name].worse]
        if unsaid := [name for name in ahead if not (contested and name == decision.ahead[0])]:
            names = self._list_names(unsaid)
            text += f" {names} {numbers.are(len(unsaid))} shown to score higher {_IN_BOTH}."
        unclear = [name for name in decision.not_worse if name not in ahead]
        if unclear and count > 1:
            text += f" Not shown to be worse than it: {self._list_names(unclear)}."
        return text + self._undetectable(unclear)

    def _undetectable(self, unclear: Sequence[str]) -> str:
        """Say what could have been seen at this n: "not shown" is not "equal"."""
        others, text = self.decision.others, ""
        alike = [x for x in unclear if others[x].identical and x != self.decision.against]
        if alike:
            text += f" Identical to it in every score: {self._list_names(alike)}."
        visible = [(seen, others[x].n) for x in unclear if (seen := others[x].visible) is not None]
        if visible:
            sizes, ns = zip(*visible, strict=True)
            text += f" {phrases.describe_detectable(min(ns), max(sizes), self.digits)}"
        if few := [name for name in unclear if others[name].n and others[name].too_few]:
            whom = "" if len(few) == len(unclear) else f" from {self._list_names(few)}"
            text += f" {phrases.describe_too_few([others[name] for name in few], whom)}"
        return text

    def _cost(self, best: str) -> str:
        decision, cheaper = self.decision, self.decision.cheaper
        if cheaper is None:
            return ""
        seen, margin, name = cheaper.difference, decision.margin, self.name(cheaper.cell)
        now, then = (
            format_cost(decision.cost, cost, decision.currency)
            for cost in (cheaper.best_cost, cheaper.cost)
        )
        price = f"{then} a question in place of {now}"
        worse = f"less than {margin:g} worse" if margin else "no worse"
        n = phrases.format_n(seen.n)
        if cheaper.warranted:
            ends = numbers.between(seen.low, seen.high, self.digits)
            evidence = f"95 % interval of the difference {ends}"
            evidence = f"the scores are identical, {n}" if seen.low is None else evidence
            return f"{name} takes {price}, and is {worse} ({evidence})."
        if cheaper.failing > margin:
            return f"{name} takes {price}, but failed more questions than {self.name(best)}."
        more = "the scores are identical" if seen.identical else "more questions would"
        if cheaper.questions is not None:
            more = f"about {numbers.count(cheaper.questions, 'question')} would"
        return f"Whether {name} ({price}) is {worse} is open at {n}; {more}."

    def _failures(self, best: str) -> str:
        """Say how many questions failed in each cell that is named; "" where none did.

        Of those with something over the best, those beaten by failing more, and those not shown to
        be worse than it, a few are named.
        """
        decision, cheaper = self.decision, self.decision.cheaper
        named = [decision.against, cheaper.cell if cheaper else None]
        for group in (decision.ahead, decision.beaten_by_failures, decision.not_worse):
            named += group[:_MAX_NAMED]
        failed, asked = decision.failed[best]
        others = [x for x in dict.fromkeys(named) if x and (failed or decision.failed[x][0])]
        if not (failed or others):
            return ""
        share = _format_share(failed, asked, numbers.count(asked, "question"))
        parts = [f"{self.name(best)} failed {share}"]
        for other in others:
            failed, asked = decision.failed[other]
            finished = decision.finished[other]
            text = f"{self.name(other)} {_format_share(failed, asked, f'{asked:,}')}"
            if finished.difference:
                certainty = "shown" if finished.better or finished.worse else "not shown"
                more = "more" if finished.difference > 0 else "fewer"
                text += f", {certainty} to be {more}, {phrases.format_p_value(finished)}"
            parts.append(text)
        return f"{'; '.join(parts)}."

    def _list_names(self, cells: Sequence[str]) -> str:
        return phrases.join_names([self.name(cell) for cell in cells], _MAX_NAMED)


def _format_share(failed: int, asked: int, questions: str) -> str:
    if not failed:
        return f"none of {questions}"
    share = numbers.percentage(failed / asked) if failed / asked >= 0.01 else "under 1\u00a0%"
    return f"{failed:,} of {questions} ({share})"
