"""Drop rules: test whether a metric fell from the baseline, as one family of one-sided tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.comparison.gate.gate_verdicts import DropReason, Outcome, RuleVerdict, SeenDrop
from harness.comparison.paired_values import CellPair, mean_values
from harness.config.gate_rules import Drop
from harness.stats.corrections import holm
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.separate_tests import estimate_separately
from harness.text import numbers

_POWER_Z = 0.8416212335729143
"""The normal distribution's 80th percentile."""
_ROUNDING = 1e-9
_ALPHA = 0.05


def judge_drop_rules(
    rules: Sequence[Drop],
    contrasts: Sequence[CellPair],
    seed: int,
    unmeasured: Callable[[CellPair, str], str],
    below_floor: Callable[[Drop], str],
) -> tuple[list[RuleVerdict], int]:
    """Return what each rule says of each pair of cells, and the size of their one family.

    `unmeasured` says of a pair and a metric that it failed too often to tell; "" where it did not;
    `below_floor` of a rule that its judge is not shown to be worth enough.
    """
    checks = [
        (rule, contrast, _rule_questions(rule, contrast))
        for rule in rules
        for contrast in contrasts
    ]
    pairs = [contrast.pair(rule.metric, ids) for rule, contrast, ids in checks]
    family = sum(bool(len(pair.left)) for pair in pairs)
    differences: dict[int, DifferenceEstimate] = {}
    for confidence in dict.fromkeys(rule.confidence for rule in rules):
        indices = [n for n, (rule, _, _) in enumerate(checks) if rule.confidence == confidence]
        # A two-sided test with twice the alarms is as easily passed as the one-sided one.
        tested = estimate_separately(
            [pairs[index] for index in indices], seed, family, alarms=2 * (1 - confidence)
        )
        differences |= dict(zip(indices, tested, strict=True))
    one_sided = {index: one_sided_p(differences[index]) for index in range(len(checks))}
    p_values = {index: p for index, p in one_sided.items() if p is not None}
    corrected = dict(zip(p_values, holm([*p_values.values()], family), strict=True))
    verdicts = []
    for index, (rule, contrast, ids) in enumerate(checks):
        name, difference = contrast.pairing.run, differences[index]
        before, after = mean_values(pairs[index])
        if message := unmeasured(contrast, rule.metric) or below_floor(rule):
            verdicts.append(unmeasured_verdict(str(rule), name, message))
        elif index in p_values and before is not None and after is not None:
            outcome, reason = decide_rule(rule, difference, corrected[index])
            clusters = pairs[index].clusters
            drop = SeenDrop(
                baseline=before,
                run=after,
                difference=difference,
                p=p_values[index],
                corrected=corrected[index],
                caught=smallest_detectable_drop(
                    rule.drop_more_than, difference.visible, difference.error
                ),
                clusters=None if clusters is None else len(set(clusters.tolist())),
                limit=rule.drop_more_than,
                reason=reason,
            )
            failed = outcome == "regression" or (
                outcome == "cannot tell" and rule.cannot_tell == "fail"
            )
            verdicts.append(RuleVerdict(str(rule), name, outcome, failed, drop))
        elif rule.segment is not None and not ids and _is_sampled(contrast):
            problem = f"nothing to compare: no question of {rule.segment} was drawn"
            failed = rule.cannot_tell == "fail"
            verdicts.append(RuleVerdict(str(rule), name, "cannot tell", failed, problem=problem))
        else:
            problem = f"nothing to compare: {difference.reason}"
            verdicts.append(unmeasured_verdict(str(rule), name, problem))
    return verdicts, family


def find_more_failures(contrasts: Sequence[CellPair], seed: int) -> list[str]:
    """Return where more questions failed than in the baseline: tests by themselves, and no rule."""
    tested = estimate_separately([contrast.finished() for contrast in contrasts], seed)
    p_values = holm([1.0 if (p := one_sided_p(difference)) is None else p for difference in tested])
    return [
        f"{contrast.pairing.run}: more questions failed than in the baseline: "
        f"{difference.losses or 0} that did not there, {difference.wins or 0} the other way "
        f"(p = {numbers.probability(p)})".replace("= <", "<")
        for contrast, difference, p in zip(contrasts, tested, p_values, strict=True)
        if p <= _ALPHA
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


def _rule_questions(rule: Drop, contrast: CellPair) -> frozenset[str] | None:
    """Return the questions that a rule is about; None for all."""
    if rule.segment is None:
        return None
    questions = contrast.shared.run.questions
    return frozenset(
        id_
        for id_ in contrast.shared.ids
        if rule.segment.holds(questions[id_].category, questions[id_].difficulty)
    )


def _is_sampled(contrast: CellPair) -> bool:
    """Return whether the run asked a sample, which need not have a question of every segment."""
    stored = contrast.shared.run.stored
    return stored is not None and stored.run.sample is not None
