"""Mean ratings of each cell with intervals, and how far raters agree (kappa, alpha)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.people.ratings import (
    ASPECTS,
    TOP_GRADE,
    AnswerRating,
    Aspect,
    Person,
    Rated,
    group_by_known_raters,
)
from harness.records import Score, SpanKey
from harness.stats.aggregate_scores import aggregate
from harness.stats.agreement import alpha, kappa
from harness.stats.estimate import Estimate
from harness.stats.intervals import MIN_SAMPLE_SIZE, explain_few_groups, mean_interval

Clusters = Mapping[str, str] | None
"""The cluster of each question, where the run drew whole clusters."""


@dataclass(frozen=True)
class CellRatings:
    """What people said of one cell; n counts questions, of `thumbs` the thumbs.

    `aspects` are from 0 to 3, `relevant` and `thumbs` shares. None where nobody said.
    """

    aspects: Mapping[Aspect, Estimate]
    relevant: Estimate | None
    thumbs: Estimate | None


def cell_ratings(
    cell: str, answers: Sequence[Rated], lines: Sequence[AnswerRating], clusters: Clusters = None
) -> CellRatings:
    """Return what people said of one cell.

    What several said of one answer is averaged first, so that a question counts once.
    """
    rated = [answer for answer in answers if cell in answer.cells]

    def mean(values: Sequence[float | None], top: int) -> Estimate | None:
        pairs = [
            (answer.question, Score(value / top))
            for answer, value in zip(rated, values, strict=True)
            if value is not None
        ]
        if not pairs:
            return None
        groups = None if clusters is None else [clusters.get(id_, id_) for id_, _ in pairs]
        line = aggregate([score for _, score in pairs], clusters=groups)
        value, low, high = (
            None if end is None else top * end for end in (line.mean, line.low, line.high)
        )
        return Estimate(value, low, high, line.n, line.note)

    aspects = {aspect: mean([answer.mean(aspect) for answer in rated], TOP_GRADE)
               for aspect in ASPECTS}  # fmt: skip
    return CellRatings(
        {aspect: estimate for aspect, estimate in aspects.items() if estimate is not None},
        mean([answer.relevant_share() for answer in rated], 1),
        _thumbs_share([line for line in lines if line.cells == (cell,)], clusters),
    )


def _thumbs_share(lines: Sequence[AnswerRating], clusters: Clusters) -> Estimate | None:
    """Return the share of thumbs that are up; those of one question or cluster hang together."""
    rated = [line for line in lines if line.thumb is not None]
    if not rated:
        return None
    thumbs = [float(bool(line.thumb)) for line in rated]
    groups = [(clusters or {}).get(line.question, line.question) for line in rated]
    ends, n = mean_interval(thumbs, groups), len(thumbs)
    few = len(set(groups)) < min(n, MIN_SAMPLE_SIZE)
    reason = explain_few_groups(len(set(groups))) if few else ends.reason
    return Estimate(sum(thumbs) / n, ends.low, ends.high, n, reason)


@dataclass(frozen=True)
class RaterAgreement:
    """How far raters agree on one aspect.

    `kappa` is that of the two raters who share most; `pairs` counts how many pairs share anything.
    """

    aspect: Aspect
    kappa: Estimate
    pairs: int
    ordinal: Estimate
    interval: Estimate


def agreements(
    answers: Sequence[Rated], clusters: Clusters = None, seed: int = 0
) -> list[RaterAgreement]:
    """Return the agreement on each aspect that two people rated the same answer for."""
    results = []
    for aspect in ASPECTS:
        units = [(question, by) for question, by in _rated_units(answers, aspect) if len(by) > 1]
        if not units:
            continue
        groups = [(clusters or {}).get(question, question) for question, _ in units]
        shared = Counter(pair for _, by in units for pair in combinations(sorted(by), 2))
        one, other = min(shared, key=lambda pair: (-shared[pair], pair))
        both = [
            ((by[one], by[other]), group)
            for (_, by), group in zip(units, groups, strict=True)
            if one in by and other in by
        ]
        values = [list(by.values()) for _, by in units]
        results.append(
            RaterAgreement(
                aspect,
                kappa([pair for pair, _ in both], TOP_GRADE + 1, [g for _, g in both], seed),
                len(shared),
                alpha(values, TOP_GRADE + 1, "ordinal", groups, seed),
                alpha(values, TOP_GRADE + 1, "interval", groups, seed),
            )
        )
    return results


def _rated_units(
    answers: Sequence[Rated], aspect: Aspect
) -> Iterator[tuple[str, dict[Person, int]]]:
    """Yield the question of each thing that was rated, an answer or a chunk, and who said what.

    Of what one person said twice the later counts.
    """
    for answer in answers:
        for lines in group_by_known_raters(answer.lines):
            if aspect != "chunks":
                grades = ((line.person, line.grade(aspect)) for line in lines)
                yield (
                    answer.question,
                    {who: int(value) for who, value in grades if value is not None},
                )
                continue
            chunks: dict[SpanKey, dict[Person, int]] = {}
            for line in lines:
                for chunk in line.chunks:
                    key = (chunk.span.doc, chunk.span.start, chunk.span.end)
                    chunks.setdefault(key, {})[line.person] = chunk.grade
            yield from ((answer.question, by) for by in chunks.values())
