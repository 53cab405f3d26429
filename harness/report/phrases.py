"""Phrases that several reports share: aggregates, evidence of a difference, words for means."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from harness.report.document import Measure
from harness.stats.aggregate_scores import Aggregate
from harness.stats.difference_estimate import DifferenceEstimate
from harness.text import numbers


def measure(line: Aggregate, best: bool = False, note: str = "", digits: int = 2) -> Measure:
    """Return an aggregate as a table shows it."""
    text = numbers.score(line.mean, digits)
    return Measure(text, line.mean, line.low, line.high, best, note, line.note, digits=digits)


def describe_counts(line: Aggregate, unanswerable: int = 0, digits: int = 3) -> str:
    """Return what a mean rests on: n, what failed and the mean without it, what was left out.

    `unanswerable` are those of the questions without a score that nothing in the corpus answers.
    """
    parts = [f"n = {line.n}"]
    if line.failed:
        parts += [f"{line.failed} failed", f"{numbers.score(line.mean_finished, digits)} finished"]
    parts += [f"{unanswerable} unanswerable"] if unanswerable else []
    others = line.not_scored - unanswerable
    parts += [f"{others} not scored"] if others else []
    parts += [f"{line.metric_failed} metric failed"] if line.metric_failed else []
    if line.metric_low is not None:
        parts += [f"{numbers.interval(line.metric_low, line.metric_high, digits)} with them"]
    return ", ".join(parts)


def describe_evidence(seen: DifferenceEstimate, digits: int, rule: str = "") -> str:
    """Return interval, corrected p and n of a difference; `rule` says how p is corrected."""
    ends = f"95 % interval {numbers.between(seen.low, seen.high, digits)}"
    interval = ends if seen.low is not None else f"no interval: {seen.reason}"
    return f"{interval}, {format_p_value(seen)}{rule}, {format_n(seen.n)}"


def format_p_value(seen: DifferenceEstimate) -> str:
    """Return `p = 0.03`, corrected, in one piece."""
    p = numbers.probability(seen.corrected)
    return f"p {p if p.startswith('<') else f'= {p}'}".replace(" ", "\u00a0")


def format_n(n: int) -> str:
    """Return `n = 1,200` in one piece."""
    return f"n\u00a0=\u00a0{n:,}"


def describe_detectable(n: int, visible: float, digits: int) -> str:
    """Return what could have been seen at this n: "not shown" is not "equal"."""
    size, often = numbers.score(visible, digits), "four times in five"
    if float(size) == 0:
        size, often = f"{10**-digits:g}", f"more than {often}"
    return (
        f"With {format_n(n)}, a difference of {size} would be found {often}, a smaller one less "
        "often: not shown is not equal."
    )


def describe_too_few(differences: Sequence[DifferenceEstimate], whom: str = "") -> str:
    """Return that these differences could not have been shown, however large."""
    unit = (
        "questions"
        if all(seen.units == seen.n for seen in differences)
        else "clusters of questions"
    )
    return f"With this few {unit} no difference{whom}, however large, could be shown."


def describe_outcome(seen: DifferenceEstimate) -> str:
    """Return what is shown of a difference: identical, better, worse, or nothing."""
    if seen.difference is None:
        return "not compared"
    if seen.identical:
        return "identical"
    return "better" if seen.better else "worse" if seen.worse else "not shown"


def format_mark(seen: DifferenceEstimate | None) -> str:
    """Return `+` for a difference shown to be above 0, `−` for one below, else nothing."""
    if seen is None:
        return ""
    return "+" if seen.better else numbers.MINUS if seen.worse else ""


def format_day(moment: str) -> str:
    """Return the day of a moment as stored: `21 Nov 2026`; a dash where it is none."""
    try:
        return f"{datetime.fromisoformat(moment):%d %b %Y}".lstrip("0")
    except ValueError:
        return numbers.MISSING


def format_moment(when: datetime) -> str:
    """Return a moment to the minute: `21 Nov 2026, 00:07`."""
    return f"{when:%d %b %Y, %H:%M}".lstrip("0")


def join_names(names: Sequence[str], most: int | None = None) -> str:
    """Return names joined as in a sentence; of more than `most` how many more there are."""
    if most is not None and len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


Band = tuple[float, str]
"""The least mean that a word is for, and the word."""

_PERFECT = 1 - 1e-6
_ORDER: Sequence[Band] = (
    (_PERFECT, "perfect"),
    (0.9, "excellent"),
    (0.75, "good"),
    (0.5, "acceptable"),
    (0.0, "poor"),
)
_COVERAGE: Sequence[Band] = (
    (_PERFECT, "found everything"),
    (0.75, "good coverage"),
    (0.5, "acceptable"),
    (0.0, "missing important information"),
)
_SCALES = {
    **dict.fromkeys(("mrr", "ndcg", "passage_mrr", "keyword_mrr", "keyword_ndcg"), _ORDER),
    **dict.fromkeys(("hit_rate", "passage_hit_rate", "precision", "r_precision"), _ORDER),
    **dict.fromkeys(("recall", "evidence_recall", "passage_recall", "keyword_recall"), _COVERAGE),
}


def band_word(metric: str, mean: float | None) -> str:
    """Return the word for a mean of `metric`, by its name alone; "" where it has no words."""
    if mean is None or metric not in _SCALES:
        return ""
    return next(word for least, word in _SCALES[metric] if mean >= least)


def band_starts(metric: str) -> tuple[float, ...]:
    """Return where the bands of a metric begin, worst first; none where it has no words."""
    return tuple(least for least, _ in reversed(_SCALES.get(metric, ())) if least < _PERFECT)


def band_scale(metric: str) -> Sequence[Band]:
    """Return the words for means of a metric, the best first; none where it has no words."""
    return _SCALES.get(metric, ())
