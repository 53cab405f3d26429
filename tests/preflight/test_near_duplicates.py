"""Texts that are nearly the same are found without comparing every pair."""

from itertools import combinations

import pytest

from harness.preflight.near_duplicates import find_groups, jaccard, shingles

WORDS = " ".join(f"word{number}" for number in range(204))  # 200 runs of five words
SIGNS = "".join(map(chr, range(0x4E00, 0x4E00 + 40)))  # 39 pairs of characters, 35 runs of five


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        (WORDS, f"{WORDS} a b", 200 / 202),
        (WORDS, "", 0.0),
        ("A b", "a  B", 1.0),
        (SIGNS, SIGNS[:-1] + "水", 34 / 36),
    ],
)
def test_the_share_of_runs_of_five_words_is_exact(one, other, share):
    assert jaccard(shingles(one), shingles(other)) == pytest.approx(share, abs=1e-12)


def test_banding_finds_every_pair_that_comparing_all_finds():
    texts = variants()
    hashed = {id_: shingles(text) for id_, text in texts.items()}
    exact = [pair for pair in combinations(texts, 2) if jaccard(*map(hashed.get, pair)) >= 0.8]

    groups = find_groups(list(texts), texts.__getitem__, seed=0)

    assert {frozenset(pair) for pair in exact} == {frozenset(group) for group in groups}
    assert len(exact) == 10


def variants():
    """Return 60 texts, of which ten pairs are alike at just 0.8 and more, the rest at 0.64."""
    shared = [f"common{number}" for number in range(160)]
    texts = {
        f"{index:02}": " ".join([*shared, *(f"x{index}y{number}" for number in range(40))])
        for index in range(50)
    }
    for index in range(10):
        words = texts[f"{index:02}"].split()
        words[index * 4] = "changed"  # up to five runs of 196 differ on either side
        texts[f"{50 + index}"] = " ".join(words[:199])
    return texts
