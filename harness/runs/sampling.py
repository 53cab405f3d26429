"""Samples questions of a test set: a part for each day, so that the days cover all, or a fixed one.

Pure: the same questions, seed and day give the same part on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from harness.fingerprint import fingerprint


def sample_of_day(ids: Sequence[str], size: int, seed: int, day: date) -> tuple[str, ...]:
    """Return the questions of a UTC day, in the order of `ids`; at most `size`, at least one.

    The days walk `size` questions each through a permutation of all, then through another: each
    question is asked once a round of about `len(ids) / size` days. A day on which one round ends
    and the next begins has fewer, where it would ask a question for both.
    """
    start = day.toordinal() * size
    chosen: set[str] = set()
    for round_ in range(start // len(ids), (start + size - 1) // len(ids) + 1):
        begins = round_ * len(ids)
        permuted = _permute(ids, seed, round_)
        chosen.update(permuted[max(0, start - begins) : start + size - begins])
        if len(chosen) == len(ids):
            break
    return _in_order(ids, chosen)


def fixed_sample(ids: Sequence[str], size: int, seed: int) -> tuple[str, ...]:
    """Return `size` questions, the same every day, in the order of `ids`; all if they are fewer."""
    return _in_order(ids, set(_permute(ids, seed, 0)[:size]))


def _permute(ids: Sequence[str], seed: int, round_: int) -> list[str]:
    """Return the questions in an order of chance.

    By a hash of each, not by a generator: a question that is added, or a newer numpy, then leaves
    the order of the others as it is.
    """
    return sorted(ids, key=lambda id_: fingerprint("sample", seed, round_, id_))


def _in_order(ids: Sequence[str], chosen: set[str]) -> tuple[str, ...]:
    return tuple(id_ for id_ in ids if id_ in chosen)
