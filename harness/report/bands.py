"""Maps mean scores to words such as "good", for reading only: METRICS.md section 3."""

from __future__ import annotations

from collections.abc import Sequence

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


def word(metric: str, mean: float | None) -> str:
    """Return the word for a mean of `metric`, by its name alone; "" where it has no words."""
    if mean is None or metric not in _SCALES:
        return ""
    return next(word for least, word in _SCALES[metric] if mean >= least)


def starts(metric: str) -> tuple[float, ...]:
    """Return where the bands of a metric begin, worst first; none where it has no words."""
    return tuple(least for least, _ in reversed(_SCALES.get(metric, ())) if least < _PERFECT)


def scale(metric: str) -> Sequence[Band]:
    """Return the words for means of a metric, the best first; none where it has no words."""
    return _SCALES.get(metric, ())
