"""Fusing rankings by ranks and by scores."""

import pytest

from harness.errors import SpecError
from harness.ranking import fusion
from harness.records import Hit
from harness.registry import label
from harness.retrievers import retrievers
from tests.support.listed import listed
from tests.support.searching import documents, pairs, searching

CHUNKS = listed(["a", "b", "c", "d"])


def ranking(**scores):
    return [Hit(CHUNKS["abcd".index(name)], score) for name, score in scores.items()]


def fused(hits):
    return {hit.chunk.text: hit.score for hit in hits}


def test_ranks_by_hand():
    one, other = ranking(a=9, b=8, c=7), ranking(c=0.2, a=0.1)
    hits = fusion.by_rank([one, other], 1)
    assert fused(hits) == pytest.approx({"a": 1 / 2 + 1 / 3, "c": 1 / 4 + 1 / 2, "b": 1 / 3})
    assert list(fused(hits)) == ["a", "c", "b"]


def test_weighted_ranks_by_hand():
    hits = fusion.by_rank([ranking(a=9, b=8), ranking(b=2, c=1)], 0, (3, 1))
    assert fused(hits) == pytest.approx({"a": 3, "b": 3 / 2 + 1, "c": 1 / 2})


def test_scores_by_hand():
    """One: a 1, b (6 - 5) / (9 - 5) = .25, c 0. The other: c 1, d 0."""
    hits = fusion.by_score([ranking(a=9, b=6, c=5), ranking(c=-1, d=-3)])
    assert fused(hits) == {"a": 1, "c": 1, "b": 0.25, "d": 0}
    assert list(fused(hits)) == ["a", "c", "b", "d"]  # equals by number


def test_weighted_scores_by_hand():
    hits = fusion.by_score([ranking(a=9, b=6, c=5), ranking(c=-1, d=-3)], (0.4, 0.6))
    assert fused(hits) == pytest.approx({"c": 0.6, "a": 0.4, "b": 0.1, "d": 0})
    assert list(fused(hits)) == ["c", "a", "b", "d"]


@pytest.mark.parametrize("score", [0.0, -5.0, 1e300])
def test_scores_that_are_all_the_same_count_in_full(score):
    assert fused(fusion.by_score([ranking(b=score), []])) == {"b": 1}
    assert fused(fusion.by_score([ranking(a=score, b=score)])) == {"a": 1, "b": 1}


def test_a_ranking_of_weight_none_adds_no_hit():
    assert fused(fusion.by_score([ranking(a=2, b=1), ranking(d=1)], (1, 0))) == {"a": 1, "b": 0}
    assert fused(fusion.by_rank([ranking(a=2), ranking(d=1)], 0, (0, 1))) == {"d": 1}


TEXTS = {"a": "moon far away", "b": "moon moon", "c": "air", "d": "thin moon air"}


def test_hybrid_fuses_the_scores_of_its_parts(tmp_path):
    spec = {"hybrid": {"fuse": "scores", "weights": [0.7, 0.3], "of": ["dense", "bm25(k1=1.2)"]}}
    with searching(tmp_path, documents(TEXTS)) as ask:
        (dense,), (bm25,) = ask("dense", ["moon air"]), ask("bm25(k1=1.2)", ["moon air"])
        (hits,) = ask(spec, ["moon air"])
    expected = dict.fromkeys(TEXTS, 0.0)
    for weight, part in ((0.7, dense), (0.3, bm25)):
        scores = [score for _, score in pairs(part)]
        for name, score in pairs(part):
            expected[name] += weight * (score - min(scores)) / (max(scores) - min(scores))
    assert dict(pairs(hits)) == pytest.approx(expected)


def test_parts_may_be_mappings_and_hold_others():
    built = retrievers.build(
        {
            "hybrid": {
                "of": [{"bm25": {"k1": 1.2}}, {"mmr": {"of": {"filtered": {"where": {"a": 1}}}}}]
            }
        }
    )
    assert built.of[0] == "bm25(k1=1.2)"
    assert built.parts()[1].parts()[0].where == '{"a": 1}'
    assert retrievers.build(label(built)) == built
    assert built.identity()["of"][0]["k1"] == 1.2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weights": [1]}, "weights: 2 are needed, not 1"),
        ({"weights": [1, 2, 3]}, "weights: 2 are needed, not 3"),
        ({"weights": [1, -1]}, "weights.1: Input should be greater than or equal to 0"),
        ({"weights": [0, 0]}, "weights: one of them must be above 0"),
        ({"weights": [float("inf"), 1]}, "weights: one of them must be above 0, and all be finite"),
        ({"weights": [float("nan"), 1]}, "weights"),
        ({"fuse": "score"}, "fuse: Input should be 'ranks' or 'scores', not 'score'"),
        ({"of": ["dense", {"bm25": {"k": 1}}]}, "retriever 'bm25' has no cut-off @k"),
        ({"of": ["dense", "multi_query"]}, "'multi_query' asks a chat model"),
        ({"of": ["dense", "hybrid"]}, "of: a hybrid cannot be part of itself"),
    ],
    ids=str,
)
def test_wrong_parameters_of_hybrid_are_named(parameters, message):
    with pytest.raises(SpecError) as caught:
        retrievers.build({"hybrid": parameters})
    assert message in str(caught.value)
