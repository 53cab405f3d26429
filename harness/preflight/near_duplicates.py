"""Finds texts that are nearly the same, by MinHash with banding; each candidate is verified."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from harness.text.words import search_terms

MIN_JACCARD = 0.8
"""The share of shingles in common (Jaccard) from which two texts are nearly the same."""
_SHINGLE_WORDS = 5
_BANDS, _ROWS = 16, 4
"""A pair at 0.8 is missed with a chance of 1 in 4,500: (1 - 0.8 ** 4) ** 16."""
_MIN_SHARED = 0.6
"""The share of least hashes that a pair must have in common: at 0.8 it has fewer once in
7,500 times."""
_BLOCK_HASHES = 1 << 12
_MAX_TRIES = 20
"""Texts before it in its bucket that each is compared with, at most."""
_CACHED_TEXTS = 256
_REPORT_EVERY = 1_000
_PRIME = np.uint64(0x9E3779B97F4A7C15)

Hashes = NDArray[np.uint64]


def find_groups(
    ids: Sequence[str],
    text: Callable[[str], str],
    seed: int,
    report: Callable[[int], None] = lambda done: None,
) -> list[list[str]]:
    """Return the texts in groups, in the order of `ids`: each nearly the same as another in it.

    `text` gives the text of an id, and is asked again for candidates; `report` receives now and
    then how many were read.
    """
    chance = np.random.default_rng(seed)
    factors = chance.integers(0, 1 << 63, size=(_BANDS * _ROWS, 1), dtype=np.uint64) * 2 + 1
    signatures = np.zeros((len(ids), len(factors)), dtype=np.uint32)
    for index, id_ in enumerate(ids):
        signatures[index] = _signature(shingles(text(id_)), factors)
        if index % _REPORT_EVERY == _REPORT_EVERY - 1:
            report(index + 1)
    group_of = list(range(len(ids)))

    def find_group(index: int) -> int:
        while group_of[index] != index:
            group_of[index] = index = group_of[group_of[index]]
        return index

    read = lru_cache(_CACHED_TEXTS)(lambda index: shingles(text(ids[index])))
    rejected: set[tuple[int, int]] = set()
    for pair in _candidates(signatures):
        one, other = map(find_group, pair)
        if one != other and pair not in rejected:
            if jaccard(*map(read, pair)) >= MIN_JACCARD:
                group_of[other] = one
            else:
                rejected.add(pair)
    groups: dict[int, list[str]] = {}
    for index, id_ in enumerate(ids):
        groups.setdefault(find_group(index), []).append(id_)
    return [group for group in groups.values() if len(group) > 1]


def shingles(text: str) -> Hashes:
    """Return a hash of each different run of five words, sorted; of a shorter text, of all."""
    words = search_terms(text)
    if not words:
        return np.empty(0, dtype=np.uint64)
    word_hashes = np.fromiter(map(_hash_word, words), dtype=np.uint64, count=len(words))
    size = min(_SHINGLE_WORDS, len(words))
    hashes = np.zeros(len(words) - size + 1, dtype=np.uint64)
    for offset in range(size):
        hashes = _mix(hashes * _PRIME + word_hashes[offset : offset + len(hashes)])
    return np.unique(hashes)


def jaccard(one: Hashes, other: Hashes) -> float:
    """Return the share of shingles that two texts have in common, 0 to 1."""
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / max(1, len(one) + len(other) - common)


def _candidates(signatures: NDArray[np.uint32]) -> Iterator[tuple[int, int]]:
    """Yield pairs that agree in a whole band, and in enough of all their least hashes."""
    for band in range(_BANDS):
        part = np.ascontiguousarray(signatures[:, band * _ROWS : (band + 1) * _ROWS])
        _, bucket = np.unique(part, axis=0, return_inverse=True)
        bucket = bucket.reshape(-1)
        order = np.argsort(bucket, kind="stable")
        for run in np.split(order, np.flatnonzero(np.diff(bucket[order])) + 1):
            for position in range(1, len(run)):
                before = run[max(0, position - _MAX_TRIES) : position]
                agreement = (signatures[before] == signatures[run[position]]).mean(axis=1)
                for other in before[agreement >= _MIN_SHARED].tolist():
                    yield other, int(run[position])


def _signature(hashes: Hashes, factors: Hashes) -> NDArray[np.uint32]:
    """Return the least of the hashes under each of many orders; of nothing, zeros."""
    least = np.full(len(factors), np.iinfo(np.uint64).max, dtype=np.uint64)
    for start in range(0, len(hashes), _BLOCK_HASHES):
        block = _mix(hashes[None, start : start + _BLOCK_HASHES] * factors)
        least = np.minimum(least, block.min(axis=1))
    # The least of many have zeros in front: it is their lower halves that tell them apart.
    return (least & np.uint64(0xFFFFFFFF)).astype(np.uint32) * np.uint32(bool(len(hashes)))


def _mix(hashes: Hashes) -> Hashes:
    """Return each hash with its upper half mixed into its lower, which products leave regular."""
    return (hashes ^ (hashes >> np.uint64(32))) * _PRIME


@lru_cache(1 << 16)
def _hash_word(word: str) -> int:
    raw = word.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little")
