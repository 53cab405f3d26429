"""Drop rules: test whether a metric fell from the baseline, as one family of one-sided tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.comparison.gate.gate_verdicts import DropReason, Outcome, RuleVerdict, SeenDrop
from harness.comparison.paired_values import CellPair, mean_values
from harness.config.gate_rules import Drop
from harness.stats.corrections import holm
from harness.stats.difference_estimate import FAMILYWISE_ERROR_RATE, DifferenceEstimate
from harness.stats.paired_units import PairedScores
from harness.stats.separate_tests import estimate_separately
from harness.text import numbers

_POWER_Z = 0.8416212335729143
"""The normal distribution's 80th percentile."""
_ROUNDING = 1e-9


def judge_drop_rules(
    rules: Sequence[Drop],
    pairs: Sequence[CellPair],
    seed: int,
    unmeasured: Callable[[CellPair, str], str],
    below_floor: Callable[[Drop], str],
) -> tuple[list[RuleVerdict], int]:
    """Return what each rule says of each pair of cells, and the size of their one family.

    `unmeasured` says of a pair and a metric that it failed too often to tell; "" where it did not;
    `below_floor` of a rule that its judge is not shown to be worth enough.
    """
    checks = [
        (rule, pair, pair.pair(rule.metric, _rule_questions(rule, pair)))
        for rule in rules
        for pair in pairs
    ]
    family = sum(bool(len(scores.left)) for _, _, scores in checks)
    differences: dict[int, DifferenceEstimate] = {}
    for confidence in dict.fromkeys(rule.confidence for rule in rules):
        places = [n for n, (rule, _, _) in enumerate(checks) if rule.confidence == confidence]
        # A two-sided test with twice the alarms is as easily passed as the one-sided one.
        tested = estimate_separately(
            [checks[place][2] for place in places], seed, family, alarms=2 * (1 - confidence)
        )
        differences |= dict(zip(places, tested, strict=True))
    one_sided = {place: one_sided_p(difference) for place, difference in differences.items()}
    p_values = {place: p for place, p in one_sided.items() if p is not None}
    corrected = dict(zip(p_values, holm([*p_values.values()], family), strict=True))
    verdicts = []
    for place, (rule, pair, scores) in enumerate(checks):
        if message := unmeasured(pair, rule.metric) or below_floor(rule):
            verdicts.append(unmeasured_verdict(str(rule), pair.pairing.run, message))
        elif place in p_values:
            p = p_values[place], corrected[place]
            verdicts.append(_judge(rule, pair, scores, differences[place], *p))
        elif _drew_nothing(rule, pair):
            problem = f"nothing to compare: no question of {rule.segment} was drawn"
            failed = rule.cannot_tell == "fail"
            name = pair.pairing.run
            verdicts.append(RuleVerdict(str(rule), name, "cannot tell", failed, problem=problem))
        else:
            problem = f"nothing to compare: {differences[place].reason}"
            verdicts.append(unmeasured_verdict(str(rule), pair.pairing.run, problem))
    return verdicts, family


def _judge(
    rule: Drop,
    pair: CellPair,
    scores: PairedScores,
    seen: DifferenceEstimate,
    p: float,
    corrected: float,
) -> RuleVerdict:
    outcome, reason = decide_rule(rule, seen, corrected)
    before, after = mean_values(scores)
    assert before is not None
    assert after is not None
    drop = SeenDrop(
        baseline=before,
        run=after,
        difference=seen,
        p=p,
        corrected=corrected,
        caught=smallest_detectable_drop(rule.drop_more_than, seen.visible, seen.error),
        clusters=None if scores.clusters is None else seen.units,
        limit=rule.drop_more_than,
        reason=reason,
    )
    failed = outcome == "regression" or (outcome == "cannot tell" and rule.cannot_tell == "fail")
    return RuleVerdict(str(rule), pair.pairing.run, outcome, failed, drop)


def find_more_failures(pairs: Sequence[CellPair], seed: int) -> list[str]:
    """Return where more questions failed than in the baseline: tests by themselves, and no rule."""
    tested = estimate_separately([pair.finished() for pair in pairs], seed)
    p_values = holm([1.0 if (p := one_sided_p(difference)) is None else p for difference in tested])
    return [
        f"{pair.pairing.run}: more questions failed than in the baseline: "
        f"{difference.losses or 0} that did not there, {difference.wins or 0} the other way "
        f"(p = {numbers.probability(p)})".replace("= <", "<")
        for pair, difference, p in zip(pairs, tested, p_values, strict=True)
        if p <= FAMILYWISE_ERROR_RATE
    ]


def one_sided_p(estimate: DifferenceEstimate) -> float | None:
    """Return the p value of "no drop" against "a drop"; None where nothing was compared.

    The tests are symmetric: half of the two-sided p value lies on either side. Where no drop is
    seen it is a half or more, and given as 1.
    """
    if estimate.p is None or estimate.difference is None:
        return None
    return estimate.p / 2 if estimate.difference < 0 else 1.0


def smallest_detectable_drop(
    limit: float, visible: float | None, error: float | None
) -> float | None:
    """Return the smallest drop that a rule catches four times in five; None where there is none.

    The test must show it, for which `visible` suffices. It must also be seen below -`limit`, as one
    is four times in five that is 0.84 standard errors greater.
    """
    if visible is None or error is None:
        return None
    return max(visible, limit + _POWER_Z * error) if limit else visible


def decide_rule(
    rule: Drop, estimate: DifferenceEstimate, corrected: float
) -> tuple[Outcome, DropReason]:
    """Return the outcome of a rule, and why, by METRICS.md section 4.

    Identical scores rule every drop out.
    """
    assert estimate.difference is not None
    limit = -rule.drop_more_than
    is_significant = corrected <= 1 - rule.confidence + _ROUNDING
    below = estimate.difference < limit - _ROUNDING
    if below and is_significant:
        return "regression", "shown"
    if estimate.identical:
        return "pass", "identical"
    if estimate.low is not None and estimate.low > limit:
        return "pass", "interval"
    if rule.strict:
        return "cannot tell", "strict"
    if not below and not is_significant:
        return "pass", "not seen"
    return "cannot tell", "by chance" if below else "small"


def unmeasured_verdict(rule: str, cell: str, problem: str) -> RuleVerdict:
    """Return that a rule cannot tell, since there is no number to judge."""
    return RuleVerdict(rule, cell, "cannot tell", False, problem=problem, measured=False)


def _rule_questions(rule: Drop, pair: CellPair) -> frozenset[str] | None:
    """Return the questions that a rule is about; None for all."""
    if rule.segment is None:
        return None
    questions = pair.shared.run.questions
    return frozenset(
        id_
        for id_ in pair.shared.ids
        if rule.segment.holds(questions[id_].category, questions[id_].difficulty)
    )


def _drew_nothing(rule: Drop, pair: CellPair) -> bool:
    """Return whether the run asked a sample, which happens to have no question of a segment."""
    stored = pair.shared.run.stored
    is_sample = stored is not None and stored.run.sample is not None
    return is_sample and rule.segment is not None and not _rule_questions(rule, pair)
