"""The chunkers `semantic` and `cluster_semantic`: breaks where the meaning changes."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.chunkers import chunkers
from harness.chunkers.cluster_semantic import partition
from harness.embedders import embedders
from harness.errors import SpecError
from harness.fingerprint import fingerprint, identity_of
from harness.text.sentences import find_sentences
from tests.support.given import unit

CATS = "A cat sat on a cat. The cat saw a cat. That cat is a cat."


DOGS = "My dogs chase dogs. Old dogs like dogs. New dogs bark."


BREAD = (
    "Bread is baked from flour, water, salt and yeast. The dough is kneaded by hand and left to"
    " rise. A hot oven gives the loaf its crust. Fresh bread smells of the bakery."
)


ORBIT = (
    "Jupiter is the largest planet of the solar system. Its four big moons were seen by Galileo"
    " in 1610. A telescope shows its bands and the red spot. Saturn's rings are made of ice."
)


def pieces(name, text, **parameters):
    parameters = {"embedder": "hashing", **parameters}
    return [text[start:end] for start, end in chunkers.build({name: parameters}).split(text)]


def cosine_distances(texts):
    vectors = embedders.build("hashing").embed(texts, "document").astype(float)
    return [1 - float(a @ b) for a, b in pairwise(vectors)]


class TestSemantic:
    def test_a_gap_is_cut_where_its_distance_is_above_the_percentile_of_all(self):
        text = f"{CATS} {DOGS} {BREAD} {ORBIT}"
        spans = list(find_sentences(text))
        for buffer in (0, 1, 2):
            windows = [
                text[spans[max(at - buffer, 0)][0] : spans[min(at + buffer, len(spans) - 1)][1]]
                for at in range(len(spans))
            ]
            found = cosine_distances(windows)
            limit = np.percentile(found, 70)
            starts = [spans[at + 1][0] for at, each in enumerate(found) if each > limit]
            cut = list(
                chunkers.build(
                    {"semantic": {"embedder": "hashing", "percentile": 70, "buffer": buffer}}
                ).split(text)
            )
            assert 2 < len(starts) < 5
            assert [start for start, _ in cut] == [0, *starts]

    def test_a_chunk_over_the_size_is_cut_between_sentences_again(self):
        found = pieces("semantic", f"{CATS} {DOGS}", buffer=0, size=40)
        assert found == [
            "A cat sat on a cat. The cat saw a cat.",
            "That cat is a cat.",
            "My dogs chase dogs. Old dogs like dogs.",
            "New dogs bark.",
        ]

    def test_very_many_sentences_are_cut_at_the_same_gaps_as_in_one_go(self):
        choose = random.Random(3).choice
        names = ["cats", "dogs", "bread", "moons", "trees", "ships", "songs", "kings"]
        text = " ".join(f"All {choose(names)} {choose(names)} {n % 50}." for n in range(9_000))
        found = np.round(cosine_distances([text[a:b] for a, b in find_sentences(text)]), 6)
        starts = [start for start, _ in find_sentences(text)]
        limit = np.percentile(found, 95)
        expected = [0, *(starts[at + 1] for at in np.flatnonzero(found > limit))]
        built = chunkers.build({"semantic": {"embedder": "hashing", "buffer": 0}})
        assert [start for start, _ in built.split(text)] == expected
        assert len(expected) == 57
        assert expected[-1] > starts[8_192]


def value(vectors, groups):
    """Return the sum over all pairs within groups, each less the mean of all pairs."""
    similar = vectors @ vectors.T
    pairs = [(a, b) for b in range(len(vectors)) for a in range(b)]
    mean = np.mean([similar[pair] for pair in pairs]) if pairs else 0.0
    inside = [(a, b) for first, last in groups for b in range(first, last) for a in range(first, b)]
    return float(sum(similar[pair] - mean for pair in inside))


def every_partition(count):
    for cuts in range(1 << max(count - 1, 0)):
        edges = [0, *(at + 1 for at in range(count - 1) if cuts >> at & 1), count]
        yield list(pairwise(edges))


class TestPartition:
    @settings(max_examples=120, deadline=None, derandomize=True, database=None)
    @given(
        lengths=st.lists(st.integers(1, 9), min_size=1, max_size=9),
        size=st.integers(1, 20),
        seed=st.integers(0, 10_000),
    )
    def test_no_other_way_of_grouping_has_a_higher_value(self, lengths, size, seed):
        vectors = unit(len(lengths), dimensions=3, seed=seed).astype(np.float64)

        def fits(groups):
            return all(sum(lengths[a:b]) <= size or b - a == 1 for a, b in groups)

        found = partition(vectors, lengths, size)
        allowed = [groups for groups in every_partition(len(lengths)) if fits(groups)]
        assert found in allowed
        best = max(value(vectors, groups) for groups in allowed)
        assert value(vectors, found) == pytest.approx(best, abs=1e-4)

    def test_a_long_document_takes_no_memory_by_the_square(self):
        vectors = unit(30_000, dimensions=8)
        found = partition(vectors, [1] * 30_000, 8)
        assert found[0][0] == 0
        assert found[-1][1] == 30_000
        assert max(last - first for first, last in found) <= 8


class TestClusterSemantic:
    def test_no_chunk_is_over_the_size_in_tokens(self):
        found = pieces("cluster_semantic", f"{CATS} {CATS}", size=12, piece=6)
        assert all(len(each.split()) + each.count(".") <= 12 for each in found)
        assert "".join(found).replace(" ", "") == f"{CATS}{CATS}".replace(" ", "")

    def test_short_sentences_are_packed_into_pieces_and_a_long_one_is_cut_into_even_windows(self):
        assert pieces("cluster_semantic", "Aa is. Bb is. Cc is. Dd.", size=6, piece=6) == [
            "Aa is. Bb is.",
            "Cc is. Dd.",
        ]
        assert pieces("cluster_semantic", "a b c d e f g", size=3, piece=3) == [
            "a b",
            "c d",
            "e f g",
        ]

    def test_a_piece_larger_than_the_size_is_refused_with_both_numbers(self):
        with pytest.raises(SpecError) as raised:
            chunkers.build({"cluster_semantic": {"size": 9, "piece": 10}})
        assert "piece (10) must not be larger than size (9)" in str(raised.value)


@pytest.mark.parametrize("name", ["semantic", "cluster_semantic"])
class TestBoth:
    def test_another_embedder_is_another_chunker_to_the_cache(self, name):
        specs = ["hashing", "hashing(dimensions=64)", "sentence_transformer"]
        built = [chunkers.build({name: {"embedder": spec}}) for spec in specs]
        assert len({fingerprint(identity_of(each)) for each in built}) == 3
        assert identity_of(built[1])["embedder"]["dimensions"] == 64
        assert "weights" in identity_of(built[2])["embedder"]
