"""Drop rules: whether a metric fell from the baseline's, in one family of one-sided tests."""

from __future__ import annotations

from collections.abc import Sequence

from harness.comparing.contrast import Contrast
from harness.gate import words as gate_words
from harness.gate.verdicts import Outcome, Seen, Verdict
from harness.gate.words import Form
from harness.rules import Drop
from harness.statistics.difference import Difference
from harness.statistics.differences import compare
from harness.statistics.families import holm

_POWER = 0.8416212335729143
"""The normal distribution's 80th percentile."""
_ROUNDING = 1e-9
_ALARMS = 0.05


def judged(
    rules: Sequence[Drop], contrasts: Sequence[Contrast], seed: int
) -> tuple[list[Verdict], int]:
    """Return what each rule says of each pair of cells, and the size of their one family."""
    places = [(rule, each, _ids(rule, each)) for rule in rules for each in contrasts]
    pairs = [contrast.pair(rule.metric, ids) for rule, contrast, ids in places]
    family = sum(bool(len(pair.left)) for pair in pairs)
    found: dict[int, Difference] = {}
    for confidence in dict.fromkeys(rule.confidence for rule in rules):
        some = [at for at, (rule, _, _) in enumerate(places) if rule.confidence == confidence]
        # A two-sided test with twice the alarms is as easily passed as the one-sided one.
        alarms = 2 * (1 - confidence)
        tested = compare([pairs[at] for at in some], seed, family, alarms=alarms)
        found |= dict(zip(some, tested, strict=True))
    p_values = {at: p for at in range(len(places)) if (p := one_sided(found[at])) is not None}
    corrected = dict(zip(p_values, holm([*p_values.values()], family), strict=True))
    verdicts = []
    for at, (rule, contrast, ids) in enumerate(places):
        seen = None
        before, after = contrast.values(rule.metric, ids)
        if at in p_values and before is not None and after is not None:
            each = found[at]
            caught = smallest_caught(rule.drop_more_than, each.visible, each.error)
            drawn = pairs[at].clusters
            units = None if drawn is None else len(set(drawn.tolist()))
            seen = Seen(before, after, each, p_values[at], corrected[at], caught, units)
        name = contrast.pairing.run
        if seen is not None:
            verdicts.append(_verdict(rule, name, seen))
        elif rule.segment is not None and not ids and _sampled(contrast):
            said = gate_words.unasked(rule.segment)
            verdicts.append(_of("cannot tell", rule, name, said))
        else:
            said = gate_words.nothing(found[at].reason)
            verdicts.append(_of("not judged", rule, name, said))
    return verdicts, family


def failing_more(contrasts: Sequence[Contrast], seed: int) -> list[str]:
    """Return where more questions failed than in the baseline: tests by themselves, and no rule."""
    tested = compare([each.finished() for each in contrasts], seed)
    p_values = holm([1.0 if (p := one_sided(each)) is None else p for each in tested])
    return [
        gate_words.of_more_failures(each.pairing.run, found.losses or 0, found.wins or 0, p)
        for each, found, p in zip(contrasts, tested, p_values, strict=True)
        if p <= _ALARMS
    ]


def one_sided(found: Difference) -> float | None:
    """Return the p value of "no drop" against "a drop"; None where nothing was compared.

    The tests are symmetric: half of the two-sided p value lies on either side. Where no drop is
    seen it is a half or more, and given as 1.
    """
    if found.p is None or found.difference is None:
        return None
    return found.p / 2 if found.difference < 0 else 1.0


def smallest_caught(limit: float, visible: float | None, error: float | None) -> float | None:
    """Return the smallest drop that a rule catches four times in five; None where there is none.

    The test must show it, for which `visible` suffices. It must also be seen below -`limit`, as one
    is four times in five that is 0.84 standard errors greater.
    """
    if visible is None or error is None:
        return None
    return max(visible, limit + _POWER * error) if limit else visible


def decided(rule: Drop, found: Difference, corrected: float) -> tuple[Outcome, Form]:
    """Return the outcome of a rule, and why, by METRICS.md section 4.

    Where all differences are equal there is no interval; it would be that one value. Identical
    scores rule every drop out.
    """
    assert found.difference is not None
    limit = -rule.drop_more_than
    low = found.difference if found.low is None and found.error == 0 else found.low
    shown = corrected <= 1 - rule.confidence + _ROUNDING
    below = found.difference < limit - _ROUNDING
    if below and shown:
        return "regression", "shown"
    if found.identical:
        return "pass", "identical"
    if low is not None and low > limit:
        return "pass", "interval"
    if rule.strict:
        return "cannot tell", "strict"
    if not below and not shown:
        return "pass", "not seen"
    return "cannot tell", "by chance" if below else "small"


def _ids(rule: Drop, contrast: Contrast) -> frozenset[str] | None:
    """Return the questions that a rule is about; None for all."""
    if rule.segment is None:
        return None
    asked = contrast.run.questions
    return frozenset(
        id_
        for id_ in contrast.shared
        if rule.segment.holds(asked[id_].category, asked[id_].difficulty)
    )


def _sampled(contrast: Contrast) -> bool:
    """Return whether the run asked a sample, which need not have a question of every segment."""
    stored = contrast.run.stored
    return stored is not None and stored.run.sample is not None


def _verdict(rule: Drop, cell: str, seen: Seen) -> Verdict:
    outcome, form = decided(rule, seen.difference, seen.corrected)
    return _of(outcome, rule, cell, gate_words.of_drop(rule, seen, form), seen)


def _of(outcome: Outcome, rule: Drop, cell: str, said: str, seen: Seen | None = None) -> Verdict:
    failed = outcome == "regression" or (outcome == "cannot tell" and rule.cannot_tell == "fail")
    return Verdict(str(rule), cell, outcome, failed, said, seen)
