"""Mean ratings of each cell, with intervals, over the questions that people rated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.people.rating_records import AnswerRating
from harness.people.ratings_reader import ASPECTS, TOP_GRADE, Aspect, Rated
from harness.records import Score
from harness.stats.aggregate_scores import aggregate
from harness.stats.estimate import Estimate
from harness.stats.intervals import MIN_SAMPLE_SIZE, explain_few_groups, mean_interval


@dataclass(frozen=True)
class CellRatings:
    """What people said of one cell; n counts questions, of `thumbs` the thumbs.

    `aspects` are from 0 to 3, `relevant` and `thumbs` shares. None where nobody said.
    """

    aspects: Mapping[Aspect, Estimate]
    relevant: Estimate | None
    thumbs: Estimate | None


def cell_ratings(
    cell: str,
    answers: Sequence[Rated],
    lines: Sequence[AnswerRating],
    clusters: Mapping[str, str] | None = None,
) -> CellRatings:
    """Return what people said of one cell.

    What several said of one answer is averaged first, so that a question counts once.
    """
    rated = [answer for answer in answers if cell in answer.cells]
    aspects = {
        aspect: _mean_estimate(
            rated, [answer.mean(aspect) for answer in rated], clusters, TOP_GRADE
        )
        for aspect in ASPECTS
    }
    shares = _mean_estimate(rated, [answer.relevant_share() for answer in rated], clusters)
    return CellRatings(
        {aspect: estimate for aspect, estimate in aspects.items() if estimate is not None},
        shares,
        _thumbs_share([line for line in lines if line.cells == (cell,)], clusters),
    )


def _mean_estimate(
    answers: Sequence[Rated],
    values: Sequence[float | None],
    clusters: Mapping[str, str] | None,
    top: int = 1,
) -> Estimate | None:
    rated = [
        (answer, value) for answer, value in zip(answers, values, strict=True) if value is not None
    ]
    if not rated:
        return None
    names = [answer.question for answer, _ in rated]
    groups = None if clusters is None else [clusters.get(name, name) for name in names]
    line = aggregate([Score(value / top) for _, value in rated], clusters=groups)
    assert line.mean is not None
    low, high = (None if end is None else top * end for end in (line.low, line.high))
    return Estimate(top * line.mean, low, high, line.n, line.note)


def _thumbs_share(
    lines: Sequence[AnswerRating], clusters: Mapping[str, str] | None
) -> Estimate | None:
    """Return the share of thumbs that are up.

    Thumbs hang together that are of one question, or of one cluster.
    """
    rated = [line for line in lines if line.thumb is not None]
    if not rated:
        return None
    thumbs = [float(bool(line.thumb)) for line in rated]
    groups = [(clusters or {}).get(line.question, line.question) for line in rated]
    ends, n = mean_interval(thumbs, groups), len(thumbs)
    few = len(set(groups)) < min(n, MIN_SAMPLE_SIZE)
    reason = explain_few_groups(len(set(groups))) if few else ends.reason
    return Estimate(sum(thumbs) / n, ends.low, ends.high, n, reason)
