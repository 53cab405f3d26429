"""What people said of each cell: means with intervals, over the questions they rated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.people.reading import ASPECTS, TOP, Aspect, Rated
from harness.records import Score
from harness.statistics.aggregate import aggregate
from harness.statistics.estimate import Estimate
from harness.statistics.intervals import FEWEST, few_groups, interval, interval_of_whole
from harness.stored import RatingLine


@dataclass(frozen=True)
class Said:
    """What people said of one cell; n counts questions, of `thumbs` the thumbs.

    `aspects` are from 0 to 3, `relevant` and `thumbs` shares. None where nobody said.
    """

    aspects: Mapping[Aspect, Estimate]
    relevant: Estimate | None
    thumbs: Estimate | None


def of_cell(
    cell: str,
    answers: Sequence[Rated],
    lines: Sequence[RatingLine],
    clusters: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Said:
    """Return what people said of one cell.

    What several said of one answer is averaged first, so that a question counts once.
    """
    own = [each for each in answers if cell in each.cells]
    aspects = {aspect: _mean(own, [each.mean(aspect) for each in own], clusters, seed, TOP)
               for aspect in ASPECTS}  # fmt: skip
    shares = _mean(own, [each.relevant() for each in own], clusters, seed)
    return Said(
        {aspect: found for aspect, found in aspects.items() if found is not None},
        shares,
        _thumbs([line for line in lines if line.cells == [cell]], clusters, seed),
    )


def _mean(
    answers: Sequence[Rated],
    values: Sequence[float | None],
    clusters: Mapping[str, str] | None,
    seed: int,
    top: int = 1,
) -> Estimate | None:
    known = [
        (each, value) for each, value in zip(answers, values, strict=True) if value is not None
    ]
    if not known:
        return None
    names = [each.question for each, _ in known]
    groups = None if clusters is None else [clusters.get(name, name) for name in names]
    line = aggregate([Score(value / top) for _, value in known], seed, clusters=groups)
    assert line.mean is not None
    low, high = (None if end is None else top * end for end in (line.low, line.high))
    return Estimate(top * line.mean, low, high, line.n, line.note)


def _thumbs(
    lines: Sequence[RatingLine], clusters: Mapping[str, str] | None, seed: int
) -> Estimate | None:
    """Return the share of thumbs that are up: Wilson; whole groups are drawn where some are.

    Thumbs hang together that are of one question, or of one cluster.
    """
    sums: dict[str, list[float]] = {}
    for line in lines:
        if line.thumb is not None:
            group = (clusters or {}).get(line.question, line.question)
            counts = sums.setdefault(group, [0.0, 0.0])
            counts[0] += line.thumb
            counts[1] += 1
    n = int(sum(each[1] for each in sums.values()))
    if not n:
        return None
    up = sum(each[0] for each in sums.values())
    if len(sums) < min(n, FEWEST):
        return Estimate(up / n, None, None, n, few_groups(len(sums)))
    if n == len(sums):
        ends = interval([each[0] for each in sums.values()], seed)
    else:
        ends = interval_of_whole(list(sums.values()), lambda row: row[0] / row[1], seed)
    return Estimate(up / n, ends.low, ends.high, n, ends.reason)
