"""The difference of two paired shares: McNemar's exact test, its interval and its power."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

POWER = 0.8
_Z = 1.959963984540054
_STEPS = 20


def p_value(wins: int, losses: int) -> float:
    """Return the exact two-sided p value: binomial, on the pairs that differ.

    Source: McNemar, "Note on the sampling error of the difference between correlated
    proportions", 1947; the exact form.
    """
    pairs = wins + losses
    upto = np.arange(min(wins, losses) + 1)
    tail = float(np.exp(_log_choose(pairs)[upto] - pairs * np.log(2)).sum())
    return min(1.0, 2 * tail)


def bonett_price(wins: int, losses: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of the difference (wins - losses) / n, from -1 to 1.

    Source: Bonett & Price, "Adjusted Wald confidence interval for a difference of binomial
    proportions based on paired data", 2012.
    """
    won, lost = (wins + 1) / (n + 2), (losses + 1) / (n + 2)
    half = _Z * float(np.sqrt((won + lost - (won - lost) ** 2) / (n + 2)))
    return max(-1.0, won - lost - half), min(1.0, won - lost + half)


@lru_cache(maxsize=4096)
def smallest(n: int, differing: int, level: float) -> float | None:
    """Return the smallest difference that n pairs show with 80 % power; None if there is none.

    `level` is that of the two-sided test. Held fixed is the chance that a pair differs: it is the
    share seen, `differing` / n, or where that is less than the difference, the difference itself.
    The number of pairs that differ then varies from one set of n questions to another.
    """
    if 2 * 0.5**n > level:
        return None
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _power(middle, n, differing / n, level) >= POWER:
            high = middle
        else:
            low = middle
    return high


def _power(difference: float, n: int, share: float, level: float) -> float:
    """Return how often n pairs show a difference, in its direction."""
    differs = min(max(share, difference), 1 - 1e-12)
    wins = min((1 + difference / differs) / 2, 1 - 1e-12)
    pairs = np.arange(n + 1)
    log = pairs * np.log(differs) + (n - pairs) * np.log1p(-differs)
    chance = np.exp(_log_choose(n) + log)
    return float(chance @ _tails(n, level, wins))


def _tails(n: int, level: float, wins: float) -> Floats:
    """Return for 0 to n differing pairs the chance of enough wins to reject, given each one's.

    With one pair more, enough wins come from enough before, or from one short of them and a win;
    where one more is then needed, those with just enough drop out.
    """
    needed = _needed(n, level)
    before, after = needed[:-1], needed[1:]
    pairs = np.arange(n)
    gained = wins * np.exp(_log_chance(pairs, before - 1, wins))
    dropped = np.where(after > before, np.exp(_log_chance(pairs + 1, before, wins)), 0.0)
    return np.concatenate([[0.0], np.maximum(np.cumsum(gained - dropped), 0.0)])


@lru_cache(maxsize=16)
def _needed(n: int, level: float) -> NDArray[np.int64]:
    """Return the fewest wins that reject, for 0 to n differing pairs; one too many if none do."""
    needed, tail = [1], 0.0
    logs, half = _log_factorials(n + 1), float(np.log(0.5))

    def chance(pairs: int, wins: int) -> float:
        return float(np.exp(logs[pairs] - logs[wins] - logs[pairs - wins] + pairs * half))

    for pairs in range(1, n + 1):
        wins = needed[-1]
        tail += 0.5 * chance(pairs - 1, wins - 1)
        if 2 * tail > level:
            tail -= chance(pairs, wins)
            wins += 1
        needed.append(wins)
    return np.array(needed)


def _log_chance(pairs: NDArray[np.int64], wins: NDArray[np.int64], chance: float) -> Floats:
    logs = _log_factorials(int(pairs.max(initial=0)) + 1)
    choose = logs[pairs] - logs[wins] - logs[pairs - wins]
    log: Floats = choose + wins * np.log(chance) + (pairs - wins) * np.log1p(-chance)
    return log


def _log_choose(n: int) -> Floats:
    logs = _log_factorials(n)
    choose: Floats = logs[n] - logs - logs[::-1]
    return choose


@lru_cache(maxsize=16)
def _log_factorials(n: int) -> Floats:
    """Return the logarithms of 0! to n!."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
