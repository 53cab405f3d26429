"""The gate: whether a run passes its rules, by METRICS.md section 4, in one family of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Literal

from harness import gate_words, pairing, refusals
from harness.contrast import Contrast
from harness.difference import Difference
from harness.differences import Pair, compare
from harness.families import holm
from harness.pairing import Pairing
from harness.rules import Drop, Gate
from harness.scoring import total_of
from harness.sides import Incomparable, Side, SideCell

Outcome = Literal["pass", "regression", "missed", "cannot tell", "not judged"]

_POWER = 0.8416212335729143
"""The normal distribution's 80th percentile."""
_MAX_FAILURES = 0.05


@dataclass(frozen=True)
class Seen:
    """What a drop rule saw: the two means on the questions that both finished, and the test.

    `corrected` is the one-sided p value, by Holm over the rules; `caught` the smallest drop that
    the rule would have caught four times in five, None where there is none.
    """

    baseline: float
    run: float
    difference: Difference
    p: float
    corrected: float
    caught: float | None


@dataclass(frozen=True)
class Verdict:
    """What one rule says of one cell. `said` has the figures in words."""

    rule: str
    cell: str
    outcome: Outcome
    failed: bool
    said: str
    seen: Seen | None = None


@dataclass(frozen=True)
class Judged:
    """What a gate came to. `family` counts the tests that were corrected together.

    `faults` say why nothing was judged, where too much failed for that; `notes` what else to know.
    """

    run: str
    baseline: str | None
    verdicts: tuple[Verdict, ...] = ()
    family: int = 0
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """The exit status: 0 passed, 1 a rule failed, 3 it could not be judged."""
        if self.faults:
            return 3
        if any(each.failed for each in self.verdicts):
            return 1
        return 3 if any(each.outcome == "not judged" for each in self.verdicts) else 0


def judge(gate: Gate, run: Side, baseline: Side | None) -> Judged:
    """Return what the rules of a gate say of a run.

    Raises:
        Incomparable: the run and the baseline cannot be compared, or share no cell to judge.
    """
    contrasts = _contrasts(gate, run, baseline)
    cells = [each.right for each in contrasts] if contrasts else _cells(gate, run)
    against = None if baseline is None or not gate.fail_if else baseline.id
    faults = [each for cell in cells if (each := _faults(gate, run, cell))]
    if faults:
        return Judged(run.id, against, faults=tuple(faults))
    dropped, family = _drops(gate.fail_if, contrasts, run.provenance.seed)
    limited = [each for cell in cells for each in _limits(gate, run, cell)]
    notes = [*_failing_more(contrasts, run), *_alone(run, baseline, contrasts)]
    return Judged(run.id, against, (*dropped, *limited), family, notes=tuple(notes))


def _contrasts(gate: Gate, run: Side, baseline: Side | None) -> list[Contrast]:
    """Return the pairs of cells that drop rules are about; none without such a rule."""
    if not gate.fail_if:
        return []
    if baseline is None:
        raise Incomparable(
            f"baseline {gate.baseline!r} is not there, and rules of the gate need one\n"
            f"  promote a run: python -m harness baseline set RUN --name {gate.baseline}"
        )
    metrics = list(dict.fromkeys(rule.metric for rule in gate.fail_if))
    for name in metrics:
        for side in (run, baseline):
            if name not in side.provenance.metrics:
                raise Incomparable(
                    f"{side.id} was not scored by {name!r}, which a rule of the gate is about\n"
                    f"  score it: python -m harness score RUN -m '{name}', or promote another run"
                )
    refusals.check(baseline, run, metrics, ())
    shared = [
        id_
        for id_, asked in run.questions.items()
        if id_ in baseline.questions and baseline.questions[id_].content == asked.content
    ]
    found = [
        Contrast(baseline, run, each, shared)
        for each in pairing.pairings(baseline, run)
        if _judged(gate, run.cells[each.run])
    ]
    if not found:
        raise Incomparable(_no_cell(gate, run))
    for each in found:
        for name, why in each.untested(metrics).items():
            raise Incomparable(f"{each.pairing.run}: {name!r} cannot be judged: {why}")
    return found


def _cells(gate: Gate, run: Side) -> list[SideCell]:
    found = [cell for cell in run.cells.values() if _judged(gate, cell)]
    if not found:
        raise Incomparable(_no_cell(gate, run))
    return found


def _judged(gate: Gate, cell: SideCell) -> bool:
    return cell.name == gate.cell if gate.cell is not None else not cell.floor


def _no_cell(gate: Gate, run: Side) -> str:
    wanted = "that is no floor" if gate.cell is None else f"of the name {gate.cell!r}"
    return f"{run.id} has no cell {wanted} to judge\n  its cells are: {'; '.join(run.cells)}"


def _drops(
    rules: Sequence[Drop], contrasts: Sequence[Contrast], seed: int
) -> tuple[list[Verdict], int]:
    """Return what each drop rule says of each pair of cells; all of them are one family."""
    places = [(rule, each) for rule in rules for each in contrasts]
    pairs = [_pair(rule, each) for rule, each in places]
    family = sum(bool(len(pair.left)) for pair in pairs)
    found: dict[int, Difference] = {}
    for confidence in dict.fromkeys(rule.confidence for rule in rules):
        some = [at for at, (rule, _) in enumerate(places) if rule.confidence == confidence]
        # Of a one-sided test at this level, the two-sided one has twice the false alarms.
        tested = compare([pairs[at] for at in some], seed, family, alarms=2 * (1 - confidence))
        found |= dict(zip(some, tested, strict=True))
    p_values = [one_sided(found[at]) for at in range(len(places))]
    known = [at for at, p in enumerate(p_values) if p is not None]
    corrected = dict(
        zip(known, holm([p for p in p_values if p is not None], family), strict=True)
    )
    verdicts = []
    for at, (rule, contrast) in enumerate(places):
        cell, seen = contrast.pairing.run, None
        p = p_values[at]
        if p is not None:
            before, after = contrast.values(rule.metric, _ids(rule, contrast))
            assert before is not None
            assert after is not None
            caught = smallest_caught(rule.drop_more_than, found[at].visible, found[at].error)
            seen = Seen(before, after, found[at], p, corrected[at], caught)
        verdicts.append(_of_drop(rule, cell, seen, found[at]))
    return verdicts, family


def _pair(rule: Drop, contrast: Contrast) -> Pair:
    return contrast.pair(rule.metric, _ids(rule, contrast))


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


def one_sided(found: Difference) -> float | None:
    """Return the p value of "no drop" against "a drop"; None where nothing was compared.

    Both tests are symmetric, so that half of the two-sided p value lies on either side. Where there
    is no drop it is at least a half, and given as 1.
    """
    if found.p is None or found.difference is None:
        return None
    return found.p / 2 if found.difference < 0 else 1.0


def smallest_caught(limit: float, visible: float | None, error: float | None) -> float | None:
    """Return the smallest drop that a rule catches four times in five; None where there is none.

    It must be shown by the test, which `visible` is enough for, and be seen below -`limit`, which
    one that is 0.84 standard errors greater is four times in five.
    """
    if visible is None or error is None:
        return None
    return max(visible, limit + _POWER * error) if limit else visible


def _of_drop(rule: Drop, cell: str, seen: Seen | None, found: Difference) -> Verdict:
    if seen is None:
        said = gate_words.nothing(found.reason)
        return Verdict(str(rule), cell, "not judged", False, said)
    outcome, form = decide(rule, found, seen.corrected)
    failed = outcome == "regression" or (outcome == "cannot tell" and rule.cannot_tell == "fail")
    said = gate_words.of_drop(rule, seen, form)
    return Verdict(str(rule), cell, outcome, failed, said, seen)


def decide(
    rule: Drop, found: Difference, corrected: float
) -> tuple[Outcome, gate_words.Form]:
    """Return the outcome of a drop rule, and why.

    Where all differences are equal there is no interval: it would be that one value.
    """
    assert found.difference is not None
    difference, limit = found.difference, -rule.drop_more_than
    low = difference if found.low is None and found.error == 0 else found.low
    above = low is not None and low > limit
    shown = corrected <= 1 - rule.confidence
    below = difference < limit - _ROUNDING
    if below and shown:
        return "regression", "shown"
    if above:
        return "pass", "identical" if found.identical else "interval"
    if rule.strict:
        return "cannot tell", "strict"
    if not below and not shown:
        return "pass", "not seen"
    return "cannot tell", "by chance" if below else "small"


_ROUNDING = 1e-9


def _limits(gate: Gate, run: Side, cell: SideCell) -> list[Verdict]:
    """Return what the absolute rules say of one cell: by its mean as it stands, without a test."""
    found = []
    for metric, least in gate.min.items():
        if metric not in run.provenance.metrics:
            raise Incomparable(
                f"{run.id} was not scored by {metric!r}, which a rule of the gate is about\n"
                f"  score it: python -m harness score RUN -m '{metric}'"
            )
        value = mean(run, cell, metric)
        rule = f"{metric}: at least {least:g}"
        met = value is not None and value >= least - _ROUNDING
        found.append(_absolute(rule, cell, value, met, gate_words.of_mean(value, least)))
    spent = {"seconds": _seconds(cell), "tokens": _tokens(cell)}
    for kind, value in spent.items():
        most = getattr(gate.max, kind)
        if most is not None:
            rule = f"{kind}: at most {most:g}"
            met = value is not None and value <= most
            found.append(_absolute(rule, cell, value, met, gate_words.of_cost(kind, value, most)))
    if gate.max.failures is not None:
        failed, asked = _failed(cell, ()), len(cell.results)
        rule = f"failures: at most {gate.max.failures:g}"
        found.append(_absolute(rule, cell, failed, True, gate_words.of_failures(failed, asked)))
    return found


def _absolute(rule: str, cell: SideCell, value: float | None, met: bool, said: str) -> Verdict:
    outcome: Outcome = "not judged" if value is None else "pass" if met else "missed"
    return Verdict(rule, cell.name, outcome, outcome == "missed", said)


def mean(run: Side, cell: SideCell, metric: str) -> float | None:
    """Return a metric's mean over one cell, the failed as 0, as reports show it."""
    from harness.metrics import metrics

    lines = [each.scores[metric] for each in cell.results.values()]
    about = run.provenance.metrics[metric]
    if about.kind == "whole set":
        total = total_of(metrics.build(about.spec))
        counts = [each.counts for each in lines if each.counts]
        assert total is not None
        return total([sum(column) for column in zip(*counts, strict=True)]) if counts else None
    values = [each.value for each in lines if each.value is not None]
    values += [0.0 for each in lines if each.state == "failed"]
    return fmean(values) if values else None


def _seconds(cell: SideCell) -> float | None:
    spent = [each.seconds for each in cell.results.values() if each.error is None]
    known = [each for each in spent if each is not None]
    return median(known) if known else None


def _tokens(cell: SideCell) -> float | None:
    spent = [each.tokens for each in cell.results.values() if each.error is None]
    known = [each for each in spent if each is not None]
    return fmean(known) if known and len(known) == len(spent) else None


def _faults(gate: Gate, run: Side, cell: SideCell) -> str:
    """Return that too much of a cell failed to judge it; "" where it did not."""
    failed, asked = _failed(cell, gate.metrics), len(cell.results)
    own = run.config.get("resolved", {}).get("max_failures", _MAX_FAILURES)
    bound = own if gate.max.failures is None else gate.max.failures
    if failed <= (bound if bound >= 1 else bound * asked):
        return ""
    kept = "max_failures" if gate.max.failures is None else "the gate's max failures"
    return gate_words.of_faults(cell.name, failed, asked, f"{kept}: {bound:g}")


def _failed(cell: SideCell, metrics: Sequence[str]) -> int:
    """Return how many questions failed, or by one of the metrics their judge did."""
    return sum(
        each.error is not None
        or any(each.scores[m].state == "judge_failed" for m in metrics if m in each.scores)
        for each in cell.results.values()
    )


def _failing_more(contrasts: Sequence[Contrast], run: Side) -> list[str]:
    """Return where more questions failed than in the baseline: a test by itself, and no rule."""
    tested = compare([each.finished() for each in contrasts], run.provenance.seed)
    p_values = holm([1.0 if (p := one_sided(each)) is None else p for each in tested])
    return [
        gate_words.of_more_failures(each.pairing.run, found.losses or 0, found.wins or 0, p)
        for each, found, p in zip(contrasts, tested, p_values, strict=True)
        if p <= 0.05
    ]


def _alone(run: Side, baseline: Side | None, contrasts: Sequence[Contrast]) -> list[str]:
    if baseline is None or not contrasts:
        return []
    there, here = ({getattr(c.pairing, side) for c in contrasts} for side in ("baseline", "run"))
    found = [f"only in {baseline.id}, not judged: {each}" for each in baseline.cells if each not in there]
    return found + [f"only in {run.id}, not judged: {each}" for each in run.cells if each not in here]
