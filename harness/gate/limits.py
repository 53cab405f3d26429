"""Absolute rules: a mean, a cost and a share of failures held to a limit, without a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median

from harness.comparing.sides import Side, SideCell
from harness.gate import words as gate_words
from harness.gate.verdicts import Outcome, Verdict
from harness.metrics import metrics
from harness.records import Score
from harness.rules import Gate
from harness.scoring import total_of
from harness.statistics import aggregate

_ROUNDING = 1e-9
_MAX_FAILURES = 0.05


def judged(gate: Gate, run: Side, cell: SideCell) -> Iterator[Verdict]:
    """Yield what each limit says of one cell: of its figures as they stand."""
    for metric, least in gate.min.items():
        value, low, high = _mean(run, cell, metric)
        met = value is not None and value >= least - _ROUNDING
        said = gate_words.of_mean(value, low, high, least)
        yield _verdict(f"{metric}: at least {least:g}", cell, value, met, said)
    taken = {"seconds": _seconds(cell), "tokens": _mean_of(cell, "tokens")}
    for kind, value in {**taken, "money": _mean_of(cell, "money")}.items():
        most = getattr(gate.max, kind)
        if most is not None:
            met = value is not None and value <= most
            said = gate_words.of_cost(kind, value, most)
            yield _verdict(f"{kind}: at most {most:g}", cell, value, met, said)
    if gate.max.failures is not None:  # more of them, and nothing is judged
        count, asked = _failed(run, cell, gate.metrics)
        said = gate_words.of_failures(count, asked)
        yield _verdict(f"failures: at most {gate.max.failures:g}", cell, count, True, said)


def faults(gate: Gate, run: Side, cell: SideCell) -> str:
    """Return that too much of a cell failed to judge it; "" where it did not.

    A question counts as failed too where the judge of a metric that is gated gave up on it. Where
    the gate has no limit, the run's own `max_failures` is one. Of pooled runs only the newest is
    held to it: earlier ones were, each on its day.
    """
    count, asked = _failed(run, cell, gate.metrics)
    bound = _own_limit(run) if gate.max.failures is None else gate.max.failures
    if count <= (bound if bound >= 1 else bound * asked):
        return ""
    key = "max_failures" if gate.max.failures is None else "gate.max.failures"
    return gate_words.of_faults(cell.name, count, asked, f"{key}: {bound:g}")


def _own_limit(run: Side) -> float:
    resolved = run.config.get("resolved")
    own = resolved.get("max_failures") if isinstance(resolved, Mapping) else None
    return own if isinstance(own, int | float) else _MAX_FAILURES


def _verdict(rule: str, cell: SideCell, value: float | None, met: bool, said: str) -> Verdict:
    outcome: Outcome = "not judged" if value is None else "pass" if met else "missed"
    return Verdict(rule, cell.name, outcome, outcome == "missed", said)


def _mean(
    run: Side, cell: SideCell, metric: str
) -> tuple[float | None, float | None, float | None]:
    """Return a metric's mean over one cell and its interval, as reports show them."""
    about = run.provenance.metrics[metric]
    total = total_of(metrics.build(about.spec)) if about.kind == "whole set" else None
    lines = {id_: each.scores[metric] for id_, each in cell.results.items()}
    scores = [
        Score(each.value, each.reason, each.state, tuple(each.counts)) for each in lines.values()
    ]
    drawn = any(each.cluster for each in run.questions.values())
    clusters = [run.questions[id_].cluster or id_ for id_ in lines] if drawn else None
    found = aggregate.aggregate(scores, run.provenance.seed, total, clusters=clusters)
    return found.mean, found.low, found.high


def _seconds(cell: SideCell) -> float | None:
    known = [each for each in _finished(cell, "seconds") if each is not None]
    return median(known) if known else None


def _mean_of(cell: SideCell, kind: str) -> float | None:
    spent = _finished(cell, kind)
    known = [each for each in spent if each is not None]
    return fmean(known) if known and len(known) == len(spent) else None


def _finished(cell: SideCell, kind: str) -> list[float | None]:
    return [getattr(each, kind) for each in cell.results.values() if each.error is None]


def _failed(run: Side, cell: SideCell, gated: Sequence[str]) -> tuple[int, int]:
    """Return how many questions of the newest run failed, and how many it asked."""
    own = [each for id_, each in cell.results.items() if run.newest is None or id_ in run.newest]
    failed = sum(
        each.error is not None
        or any(each.scores[m].state == "judge_failed" for m in gated if m in each.scores)
        for each in own
    )
    return failed, len(own)
