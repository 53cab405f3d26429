"""McNemar's exact test of two paired shares, with the interval and power of the difference."""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

POWER = 0.8
_Z = 1.959963984540054
_BISECTION_STEPS = 20
_ROUNDING = 1e-9
_NEGLIGIBLE = 1e-12


def p_value(wins: int, losses: int) -> float:
    """Return the exact two-sided p value: binomial, on the pairs that differ.

    Source: McNemar, "Note on the sampling error of the difference between correlated
    proportions", 1947; the exact form.
    """
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5)))


def bonett_price(wins: int, losses: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of the difference (wins - losses) / n, from -1 to 1.

    Source: Bonett & Price, "Adjusted Wald confidence interval for a difference of binomial
    proportions based on paired data", 2012.
    """
    won, lost = (wins + 1) / (n + 2), (losses + 1) / (n + 2)
    half = _Z * float(np.sqrt((won + lost - (won - lost) ** 2) / (n + 2)))
    return max(-1.0, won - lost - half), min(1.0, won - lost + half)


def smallest_detectable(n: int, differing: int, needed: Integers) -> float | None:
    """Return the smallest difference that n pairs show with 80 % power; None if there is none.

    `needed` is how many wins reject, as the functions below give it. Held fixed is the chance that
    a pair differs: it is the share seen, `differing` / n, or where that is less than the
    difference, the difference itself. The number of pairs that differ then varies from one set of
    n questions to another.
    """
    if needed[n] > n:
        return None
    low, high = 0.0, 1.0
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        if _power(middle, n, differing / n, needed) >= POWER:
            high = middle
        else:
            low = middle
    return high


@lru_cache(maxsize=16)
def wins_that_reject(n: int, level: float) -> Integers:
    """Return the fewest wins that the exact test rejects, for 0 to n differing pairs.

    One more than there are pairs where none do.
    """
    from scipy.special import bdtrc

    pairs = np.arange(n + 1)
    normal = pairs / 2 + NormalDist().inv_cdf(1 - level / 2) * np.sqrt(pairs) / 2
    tried = np.floor(normal).astype(np.int64)[:, None] + np.arange(-6, 7)
    tail = bdtrc(np.clip(tried - 1, -1, pairs[:, None]), pairs[:, None], 0.5)
    rejects = (2 * tail <= level) & (tried > 0)
    found: Integers = np.where(rejects, tried, n + 2).min(axis=1)
    return np.minimum(found, pairs + 1)


def wins_above(n: int, critical: float) -> Integers:
    """Return the fewest wins w of k pairs with |w - (k - w)| > critical √k, for 0 to n pairs."""
    pairs = np.arange(n + 1)
    bound = (pairs + critical * np.sqrt(pairs)) / 2 * (1 + _ROUNDING)
    return np.minimum(np.floor(bound).astype(np.int64) + 1, pairs + 1)


def _power(difference: float, n: int, share: float, needed: Integers) -> float:
    """Return how often n pairs show a difference, in its direction."""
    from scipy.special import bdtrc, gammaln

    differs = min(max(share, difference), 1 - 1e-12)
    wins = min((1 + difference / differs) / 2, 1 - 1e-12)
    pairs = np.arange(n + 1)
    log = gammaln(n + 1) - gammaln(pairs + 1) - gammaln(n - pairs + 1)
    chance = np.exp(log + pairs * np.log(differs) + (n - pairs) * np.log1p(-differs))
    likely = (chance > _NEGLIGIBLE) & (needed <= pairs)
    return float(chance[likely] @ bdtrc(needed[likely] - 1, pairs[likely], wins))
