"""Puts the decision of a run into words: which cell to ship, how sure that is, and its cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.comparison.decision import Cheaper, Decision, format_cost
from harness.stats.difference_estimate import DifferenceEstimate
from harness.text import numbers

_MAX_NAMED_CELLS = 4
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
        sentences = [" ".join(filter(None, sentence)) for sentence in self.sentences]
        return " ".join([self.headline, *sentences])


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
        best, others = self.decision.best, self.decision.others
        if not self.decision.means:
            return VerdictText(
                "Cannot tell which configuration to ship.",
                [("", f"{self.decision.metric} scored no question: {self.unscored}.")],
                None,
            )
        if best is None:
            return VerdictText(
                "There is nothing to ship.",
                [("", "Nothing but floors has a score, and floors are never recommended.")],
                None,
            )
        failing = describe_failures(self.decision, self.name, _MAX_NAMED_CELLS)
        failed = [("Failures.", failing)] if failing else []
        if not others:
            return VerdictText(
                f"There is nothing to compare {self.name(best)} with.",
                [("", f"It reaches {self._score_text(best)}."), *failed],
                best,
            )
        cheaper = self.decision.cheaper
        ship = self.decision.ship or best
        sentences = [
            ("", self._lead_sentence(best)),
            *([("Worse at.", self._worse_sentence())] if self.decision.worse_at else []),
            ("How sure.", self._confidence_sentences(best)),
            *self._equal_text_sentences(best),
            *failed,
        ]
        if cheaper is not None:
            sentences.append(("If cost decides.", self._cost_sentence(best, cheaper)))
        return VerdictText(self._headline(best, ship) + self._worse_note(), sentences, ship)

    def _headline(self, best: str, ship: str) -> str:
        decision, name = self.decision, self.name(best)
        if decision.form == "beats baseline":
            return f"Ship {name}."
        if decision.form == "baseline is best":
            return f"Keep the baseline, {name}."
        if decision.form == "contested":
            return (
                f"{name} {self._rank_phrase(best)}, but {self._contest_reason(decision.ahead[0])}."
            )
        if decision.form == "beats others":
            if decision.baseline is None:
                return f"Ship {name}."
            return f"{name} {self._rank_phrase(best)}, but is not shown to beat the baseline."
        cheaper_hint = "" if ship == best else f" Take the cheaper, {self.name(ship)}."
        return f"No difference could be shown.{cheaper_hint}"

    def _worse_note(self) -> str:
        """Say in the headline at what the recommended cell is shown to be worse."""
        names, other = [*self.decision.worse_at], self.decision.worse_than
        if not names or other is None:
            return ""
        what = numbers.count(len(names), "other metric")
        if len(names) <= _MAX_NAMED_CELLS:
            what = self._join(names)
        return f" It is worse than {self._other_name(other)} at {what}."

    def _worse_sentence(self) -> str:
        """List the metrics at which the recommended cell is shown to be worse."""
        decision = self.decision
        listed = "; ".join(
            f"{metric} {numbers.difference(difference.difference, self.digits)} "
            f"({numbers.between(difference.low, difference.high, self.digits)})"
            for metric, difference in decision.worse_at.items()
        )
        return f"Shown against {self._other_name(decision.worse_than or '')}: {listed}."

    def _other_name(self, other: str) -> str:
        return "the baseline" if other == self.decision.baseline else self.name(other)

    def _equal_text_sentences(self, best: str) -> list[tuple[str, str]]:
        """Say where another chunker is ahead when every cell gives the model as much to read."""
        equal = self.decision.equal_text
        if equal is None or equal.first == best or best not in equal.means:
            return []
        first, ours = equal.means[equal.first], equal.means[best]
        if first - ours < 10**-self.digits / 2:
            return []
        place = 1 + sum(mean > ours for mean in equal.means.values())
        return [
            (
                "At equal text.",
                f"The order turns round: by {equal.metric} {self.name(equal.first)} reaches "
                f"{numbers.score(first, self.digits)} and {self.name(best)} "
                f"{numbers.score(ours, self.digits)}, place {place} of the "
                f"{len(equal.means)} chunkers. Larger chunks give the model more to read.",
            )
        ]

    def _contest_reason(self, other: str) -> str:
        """Say what another cell has over the best."""
        name = self.name(other)
        if not self.decision.others[other].worse:
            return f"fails more questions than {name}"
        if self.decision.lead_over(other) < 0:
            return f"{name}, which is only a floor, is shown to score higher"
        return f"{name} is shown to score higher {_IN_BOTH}"

    def _rank_phrase(self, best: str) -> str:
        """Say that the best has the highest mean, with whom it shares it, what is not counted."""
        decision = self.decision
        others = [name for name in decision.means if name != best]
        tied = [name for name in others if decision.lead_over(name) == 0]
        aside = any(decision.lead_over(name) < 0 for name in others)
        mean = f"the highest mean{' of those that are no floor' if aside else ''}"
        return f"shares {mean} with {self._list_names(tied)}" if tied else f"has {mean}"

    def _score_text(self, cell: str) -> str:
        return f"{self.decision.metric} {self.score(cell)}"

    def _lead_sentence(self, best: str) -> str:
        decision, seen, against = self.decision, self.decision.seen, self.decision.against
        says_name = decision.form in ("none shown", "contested")
        lead = f"{self.name(best) if says_name else 'It'} reaches {self._score_text(best)}"
        if seen is None or against is None:
            return f"{lead}."
        above = decision.lead_over(against)
        other = f"{self._role_of(against)} {self.name(against)}"
        if seen.difference is None:
            return f"{lead}. How far it is from {other} cannot be said: {seen.reason}."
        where = "the same as" if seen.difference == 0 else self._distance_text(seen.difference)
        comparison = f"{where} {other} ({self._evidence_text(seen)})"
        on_shared = f"on the {numbers.count(seen.n, 'question')} scored in both it is {comparison}."
        if seen.difference * above < 0:
            return f"{lead}, the {'higher' if above > 0 else 'lower'} mean, but {on_shared}"
        if seen.unpaired or decision.failed[best][0] or decision.failed[against][0]:
            return f"{lead}; {on_shared}"
        return f"{lead}, {comparison}."

    def _role_of(self, other: str) -> str:
        if other == self.decision.baseline:
            return "the baseline"
        return "the floor" if self.decision.lead_over(other) < 0 else "the next best"

    def _distance_text(self, difference: float) -> str:
        size = numbers.score(abs(difference), self.digits)
        if float(size) == 0:
            size = f"less than {10**-self.digits:g}"
        return f"{size} {'above' if difference > 0 else 'below'}"

    def _evidence_text(self, seen: DifferenceEstimate) -> str:
        ends = numbers.between(seen.low, seen.high, self.digits)
        interval = (
            f"95 % interval {ends}" if seen.low is not None else f"no interval: {seen.reason}"
        )
        return f"{interval}, {format_p_value(seen)}, {_non_breaking(f'n = {seen.n:,}')}"

    def _confidence_sentences(self, best: str) -> str:
        decision = self.decision
        count = len(decision.others)
        text = f"It is shown to be better than {len(decision.beaten)} of the {count} others"
        if count == 1:
            text = f"It is {'' if decision.beaten else 'not '}shown to be better than the other"
        torn = [name for name in decision.ahead if decision.others[name].better]
        if torn:
            names = self._list_names(torn)
            but = f"shown to score higher than {names}, but also to fail more questions"
            text = f"It is {but}" if count == 1 else f"{text}. It is {but}"
        if decision.beaten_by_failures:
            who = "" if count == 1 else f"than {self._list_names(decision.beaten_by_failures)} "
            text += f" ({who}by failing fewer questions alone)"
        text += "."
        rank = self._rank_phrase(best)
        contested = decision.form == "contested"
        in_headline = contested or (decision.form == "beats others" and decision.baseline)
        if decision.form == "none shown" or (rank != "has the highest mean" and not in_headline):
            text = f"{self.name(best)} {rank}. {text}"
        ahead = [name for name in decision.ahead if decision.others[name].worse]
        unsaid = [name for name in ahead if not (contested and name == decision.ahead[0])]
        if unsaid:
            are = "is" if len(unsaid) == 1 else "are"
            text += f" {self._list_names(unsaid)} {are} shown to score higher {_IN_BOTH}."
        unclear = [name for name in decision.not_worse if name not in ahead]
        if unclear and count > 1:
            text += f" Not shown to be worse than it: {self._list_names(unclear)}."
        return text + self._undetectable_sentences(unclear)

    def _undetectable_sentences(self, unclear: Sequence[str]) -> str:
        """Say what could have been seen at this n: "not shown" is not "equal"."""
        decision, text = self.decision, ""
        differences = {name: decision.others[name] for name in unclear}
        alike = [
            name
            for name, difference in differences.items()
            if difference.identical and name != decision.against
        ]
        if alike:
            text += f" Identical to it in every score: {self._list_names(alike)}."
        visible = {
            name: difference.visible
            for name, difference in differences.items()
            if difference.visible is not None
        }
        if visible:
            greatest = max(visible.values())
            size = numbers.score(greatest, self.digits)
            often = "four times in five"
            if float(size) == 0:
                size, often = f"{10**-self.digits:g}", f"more than {often}"
            n = min(differences[name].n for name in visible)
            text += (
                f" With {_non_breaking(f'n = {n:,}')}, a difference of {size} would be found "
                f"{often}, a smaller one less often: not shown is not equal."
            )
        few = [
            name for name, difference in differences.items() if difference.n and difference.too_few
        ]
        if few:
            whom = "" if len(few) == len(unclear) else f" from {self._list_names(few)}"
            unit = (
                "questions"
                if all(differences[x].units == differences[x].n for x in few)
                else "clusters"
            )
            text += f" With this few {unit} no difference{whom}, however large, could be shown."
        return text

    def _cost_sentence(self, best: str, cheaper: Cheaper) -> str:
        seen, kind = cheaper.difference, self.decision.cost
        now, then = (
            format_cost(kind, cost, self.decision.currency)
            for cost in (cheaper.best_cost, cheaper.cost)
        )
        price = f"{then} a question in place of {now}"
        name, margin = self.name(cheaper.cell), self.decision.margin
        worse = f"less than {margin:g} worse" if margin else "no worse"
        if cheaper.warranted:
            evidence = f"95 % interval of the difference {self._interval_text(seen)}"
            if seen.low is None:
                evidence = f"the scores are identical, {_non_breaking(f'n = {seen.n:,}')}"
            return f"{name} takes {price}, and is {worse} ({evidence})."
        if cheaper.failing > margin:
            return f"{name} takes {price}, but failed more questions than {self.name(best)}."
        more = "more questions would"
        if cheaper.questions is not None:
            more = f"about {numbers.count(cheaper.questions, 'question')} would"
        elif seen.identical:
            more = "the scores are identical"
        sample_size = _non_breaking(f"n = {seen.n:,}")
        return f"Whether {name} ({price}) is {worse} cannot be told at {sample_size}; {more}."

    def _interval_text(self, seen: DifferenceEstimate) -> str:
        return numbers.between(seen.low, seen.high, self.digits)

    def _list_names(self, cells: Sequence[str]) -> str:
        names = [self.name(cell) for cell in cells]
        if len(names) > _MAX_NAMED_CELLS:
            return f"{', '.join(names[:_MAX_NAMED_CELLS])} and {len(names) - _MAX_NAMED_CELLS} more"
        return self._join(names)

    @staticmethod
    def _join(names: Sequence[str]) -> str:
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _non_breaking(text: str) -> str:
    """Return `text` with spaces at which no line breaks."""
    return text.replace(" ", "\u00a0")


def describe_failures(decision: Decision, name: Callable[[str], str], limit: int) -> str:
    """Say how many questions failed in each cell that is named; "" where none did.

    Of those with something over the best, those beaten by failing more, and those not shown to be
    worse than it, `limit` at most are named.
    """
    best, cheaper = decision.best, decision.cheaper
    if best is None:
        return ""
    candidates = [decision.against, cheaper.cell if cheaper else None]
    candidates += [
        *decision.ahead[:limit],
        *decision.beaten_by_failures[:limit],
        *decision.not_worse[:limit],
    ]
    best_failed, asked_count = decision.failed[best]
    others = [
        cell
        for cell in dict.fromkeys(candidates)
        if cell and (best_failed or decision.failed[cell][0])
    ]
    if not (best_failed or others):
        return ""
    questions = numbers.count(asked_count, "question")
    parts = [f"{name(best)} failed {_format_share(best_failed, asked_count, questions)}"]
    parts += [f"{name(cell)} {_compare_failures(decision, cell)}" for cell in others]
    return f"{'; '.join(parts)}."


def format_p_value(difference: DifferenceEstimate) -> str:
    """Return `p = 0.03`, corrected, in one piece."""
    p = numbers.probability(difference.corrected)
    return f"p {p if p.startswith('<') else f'= {p}'}".replace(" ", "\u00a0")


def _compare_failures(decision: Decision, other: str) -> str:
    failed, asked_count = decision.failed[other]
    share, difference = (
        _format_share(failed, asked_count, f"{asked_count:,}"),
        decision.finished[other],
    )
    if not difference.difference:
        return share
    certainty = "shown" if difference.better or difference.worse else "not shown"
    more = "more" if difference.difference > 0 else "fewer"
    return f"{share}, {certainty} to be {more}, {format_p_value(difference)}"


def _format_share(failed: int, asked_count: int, questions: str) -> str:
    if not failed:
        return f"none of {questions}"
    share = (
        numbers.percentage(failed / asked_count)
        if failed / asked_count >= 0.01
        else "under 1\u00a0%"
    )
    return f"{failed:,} of {questions} ({share})"
