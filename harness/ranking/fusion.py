"""Fuses several rankings of chunks into one by rank or by score; ties go by chunk number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import fsum

from harness.records import Chunk, Hit

Ranking = Sequence[Hit]


def by_rank(
    rankings: Sequence[Ranking], c: float, weights: Sequence[float] | None = None
) -> list[Hit]:
    """Return the fused ranking: each hit adds weight / (c + rank); ranks from 1, weights 1.

    Source: Cormack et al., "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank
    Learning Methods", 2009, which has c = 60 and no weights.
    """
    shares = [[1 / (c + rank) for rank, _ in enumerate(ranking, start=1)] for ranking in rankings]
    return _sum_shares(rankings, shares, weights)


def by_score(rankings: Sequence[Ranking], weights: Sequence[float] | None = None) -> list[Hit]:
    """Return the fused ranking: each hit adds weight * its place between lowest and highest score.

    Scores of each ranking are brought to [0, 1]; where all of them are the same, to 1. A chunk that
    a ranking does not have gets 0 from it.

    Source: Lee, "Analyses of Multiple Evidence Combination", 1997 (CombSUM of min-max normalised
    scores); Bruch et al., "An Analysis of Fusion Functions for Hybrid Retrieval", 2023.
    """
    return _sum_shares(
        rankings, [_min_max_scaled([hit.score for hit in ranking]) for ranking in rankings], weights
    )


def _min_max_scaled(scores: Sequence[float]) -> list[float]:
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


def _sum_shares(
    rankings: Sequence[Ranking],
    shares: Sequence[Sequence[float]],
    weights: Sequence[float] | None,
) -> list[Hit]:
    summands: dict[int, list[float]] = defaultdict(list)
    chunks: dict[int, Chunk] = {}
    ranking_weights = [1.0] * len(rankings) if weights is None else weights
    for ranking, ranking_shares, weight in zip(rankings, shares, ranking_weights, strict=True):
        for hit, share in zip(ranking, ranking_shares, strict=True):
            if weight:
                chunks[hit.chunk.index] = hit.chunk
                summands[hit.chunk.index].append(weight * share)
    # Exact sums: the same shares in another order are a tie, whatever is added first.
    scores = {index: fsum(shares_of) for index, shares_of in summands.items()}
    order = sorted(scores, key=lambda index: (-scores[index], index))
    return [Hit(chunks[index], scores[index]) for index in order]
