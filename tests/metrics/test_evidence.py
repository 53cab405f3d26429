"""Measures that do not depend on where chunks end, on a drawn document without white space.

gold    ..........##########..........####..........................
a       aaaaaaaaaaaaaaa
b                 bbbbbbbbbbbbbb
        0    5    10   15   20   25   30   35   40   45   50   55
"""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import SpecError
from harness.metrics import metrics
from harness.records import Case, Chunk, Hit, Passage, Question, Score, Span

DRAWN = {"doc": "x" * 60, "other": "y" * 60}
GOLD = ((10, 20, "one"), (30, 34, "two"))
A, B = (0, 15), (10, 24)
ELSEWHERE = ("other", 0, 60)


def case(retrieved, gold=GOLD, texts=DRAWN):
    """Return a case; a hit is (start, end) in "doc", or (document, start, end)."""
    hits = []
    for rank, place in enumerate(retrieved):
        doc, start, end = place if len(place) == 3 else ("doc", *place)
        hits.append(Hit(Chunk(rank, Span(doc, start, end), texts[doc][start:end]), -float(rank)))
    passages = [
        Passage(Span("doc", start, end), texts["doc"][start:end], group)
        for start, end, group in gold
    ]
    return Case(Question("q", "?", passages=tuple(passages)), tuple(hits))


def evidence(case, cut, recall, precision, iou):
    names = [f"evidence_{each}@{cut}" for each in ("recall", "precision", "iou")]
    found = [metrics.build(name).score(case).value for name in names]
    assert found == pytest.approx([recall, precision, iou], abs=1e-9)


def passages(case, cut, recall, hit_rate, mrr, option=""):
    names = [f"passage_{each}{option}@{cut}" for each in ("recall", "hit_rate", "mrr")]
    found = [metrics.build(name).score(case).value for name in names]
    assert found == pytest.approx([recall, hit_rate, mrr], abs=1e-9)


@pytest.mark.parametrize(
    ("retrieved", "k", "found", "read"),
    [
        pytest.param([A], 1, 5, 15, id="part of one passage"),
        pytest.param([A, (30, 40)], 2, 9, 25, id="part of one and all of the other"),
        pytest.param([A, (30, 40)], 1, 5, 15, id="the second hit is past k"),
        pytest.param([A], 5, 5, 15, id="fewer hits than k"),
        pytest.param([A, A], 2, 5, 30, id="the same characters twice are found once, paid twice"),
        pytest.param([(10, 20), (30, 34)], 2, 14, 14, id="the evidence and nothing else"),
        pytest.param([(0, 60)], 1, 14, 60, id="the whole document"),
        pytest.param([(20, 30)], 1, 0, 10, id="between the two, touching both"),
        pytest.param([ELSEWHERE], 1, 0, 60, id="the right place in the wrong document"),
    ],
)
def test_evidence_counts_characters(retrieved, k, found, read):
    evidence(case(retrieved), k, found / 14, found / read, found / (14 + read - found))


def test_nothing_retrieved_scores_0():
    evidence(case([]), 5, 0.0, 0.0, 0.0)
    evidence(case([]), "100t", 0.0, 0.0, 0.0)
    passages(case([]), 5, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("name", ["evidence_recall", "evidence_iou", "passage_mrr"])
def test_a_question_without_evidence_is_not_scored(name):
    score = metrics.build(f"{name}@5").score(case([A], gold=()))

    assert score == Score(None, "the question has no evidence label", "not_scored")


class TestAlternatives:
    """Passages of one group say the same: any one of them will do."""

    GOLD = ((0, 10, "one"), (20, 24, "one"), (40, 50, "two"))

    def test_the_one_of_which_the_larger_share_was_found_is_the_gold(self):
        # All 4 characters of the second beat 5 of the 10 of the first; G = 4 + 10.
        evidence(case([(5, 10), (20, 24)], self.GOLD), 2, 4 / 14, 4 / 9, 4 / 19)

    def test_where_none_was_found_the_first_named_is_the_gold(self):
        score = metrics.build("evidence_recall@1").score(case([(55, 60)], self.GOLD))
        assert score == Score(0.0, "0 of 20 characters")

    def test_a_group_counts_once_however_many_of_it_are_whole(self):
        passages(case([(0, 10), (20, 24)], self.GOLD), 2, 0.5, 1.0, 1.0)

    def test_halves_of_two_alternatives_do_not_make_a_whole_one(self):
        passages(case([(0, 5), (22, 24)], self.GOLD), 2, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("retrieved", "k", "recall", "mrr"),
    [
        pytest.param([A, B], 1, 0.0, 0.0, id="half of it"),
        pytest.param([A, B], 2, 0.5, 0.5, id="two halves are whole at the second"),
        pytest.param([(0, 15), (15, 30)], 2, 0.5, 0.5, id="halves that only touch"),
        pytest.param([(28, 40), (5, 25)], 2, 1.0, 1.0, id="each whole in one chunk"),
        pytest.param([ELSEWHERE, (50, 60), (28, 40)], 3, 0.5, 1 / 3, id="whole at the third"),
        pytest.param([ELSEWHERE, (50, 60), (28, 40)], 2, 0.0, 0.0, id="whole past k"),
    ],
)
def test_a_passage_counts_when_it_is_whole(retrieved, k, recall, mrr):
    passages(case(retrieved), k, recall, float(recall > 0), mrr)


@pytest.mark.parametrize(
    ("visible", "option", "whole"),
    [(19, "", True), (18, "", False), (10, "(whole=0.5)", True), (9, "(whole=0.5)", False)],
)
def test_whole_is_a_share_of_the_visible_characters(visible, option, whole):
    # 20 letters with a space behind each: the white space is neither needed nor counted.
    texts = {"doc": "x " * 20}
    shown = case([(at, at + 1) for at in range(0, 2 * visible, 2)], ((0, 40, "one"),), texts)
    first = round(20 * (0.5 if option else 0.95))

    passages(shown, 20, float(whole), float(whole), 1 / first if whole else 0.0, option)


WORDS = {"doc": "aa bb cc dd ee ff gg hh"}  # eight tokens, three characters apart


class TestTokenBudget:
    """`@5t`: the ranked text is read until five tokens, and the last chunk is cut there."""

    GOLD = ((9, 14, "dd ee"),)

    @pytest.mark.parametrize(
        ("budget", "found", "read"),
        [(1, 0, 2), (3, 0, 8), (4, 2, 11), (5, 5, 14), (8, 5, 23)],
    )
    def test_the_last_chunk_is_cut_at_the_last_token_paid_for(self, budget, found, read):
        shown = case([(0, 23)], self.GOLD, WORDS)
        evidence(shown, f"{budget}t", found / 5, found / read, found / (5 + read - found))

    def test_punctuation_marks_are_tokens_too(self):
        texts = {"doc": "a, b. (c)"}  # a , b . ( c )
        evidence(case([(0, 9)], ((3, 5, "b."),), texts), "4t", 1.0, 2 / 5, 2 / 5)
        evidence(case([(0, 9)], ((3, 5, "b."),), texts), "3t", 0.5, 1 / 4, 1 / 5)

    def test_a_rank_counts_chunks_and_the_cut_one_too(self):
        shown = case([(0, 5), (6, 23)], self.GOLD, WORDS)
        passages(shown, "5t", 1.0, 1.0, 0.5)
        passages(shown, "4t", 0.0, 0.0, 0.0)

    def test_a_score_says_where_the_hits_ran_out(self):
        shown = case([(0, 5), (6, 14)], self.GOLD, WORDS)
        for name in ("evidence_recall", "passage_recall"):
            assert metrics.build(f"{name}@1000t").score(shown).reason == "ran out at 5 tokens"
            assert "ran out" not in metrics.build(f"{name}@5t").score(shown).reason

    @pytest.mark.parametrize("name", ["evidence_iou", "passage_hit_rate"])
    def test_chunks_or_tokens_must_be_given_and_not_both(self, name):
        for spec in (name, {f"{name}@5": {"budget": 9}}):
            with pytest.raises(SpecError, match="a cut-off is needed: @5"):
                metrics.build(spec)


NAMES = [
    *(f"evidence_{each}" for each in ("recall", "precision", "iou")),
    *(f"passage_{each}" for each in ("recall", "hit_rate", "mrr")),
]
SENTENCES = {
    "doc": "One two, three.  Four five six seven! \n\n Eight nine; ten eleven. twelve " * 2
}
LENGTH = len(SENTENCES["doc"])
PLACES = st.tuples(st.integers(0, LENGTH - 1), st.integers(1, 30)).map(
    lambda place: (place[0], min(place[0] + place[1], LENGTH))
)
GOLDS = (
    st.lists(PLACES, min_size=1, max_size=4)
    .flatmap(
        lambda places: st.lists(
            st.sampled_from("abc"), min_size=len(places), max_size=len(places)
        ).map(lambda groups: [(*p, g) for p, g in zip(places, groups, strict=True)])
    )
    .filter(lambda gold: all(SENTENCES["doc"][s:e].strip() for s, e, _ in gold))
)
fast = settings(max_examples=60, deadline=None, derandomize=True, database=None)


@fast
@given(
    gold=GOLDS,
    retrieved=st.lists(PLACES, max_size=6),
    cut=st.sampled_from(["1", "3", "9", "7t", "99t"]),
)
def test_every_measure_stays_between_0_and_1_and_iou_under_both_others(gold, retrieved, cut):
    shown = case(retrieved, gold, SENTENCES)
    values = {name: metrics.build(f"{name}@{cut}").score(shown).value for name in NAMES}

    assert all(0.0 <= value <= 1.0 for value in values.values())
    both = values["evidence_recall"], values["evidence_precision"]
    assert values["evidence_iou"] <= min(both) + 1e-12
    assert values["passage_recall"] <= values["passage_hit_rate"] >= values["passage_mrr"]


SPACES = [at for at, char in enumerate(SENTENCES["doc"]) if char.isspace()]


@fast
@given(
    gold=GOLDS,
    cuts=st.sets(st.sampled_from(SPACES)),
    side=st.sampled_from([0, 1]),
    budget=st.integers(1, 60),
)
def test_cutting_the_same_text_otherwise_changes_nothing(gold, cuts, side, budget):
    edges = sorted({0, *(at + side for at in cuts), LENGTH})
    pieces = list(pairwise(edges))
    whole, cut = case([(0, LENGTH)], gold, SENTENCES), case(pieces, gold, SENTENCES)
    for name in NAMES[:5]:  # a rank of course depends on the cuts
        at_once = metrics.build(f"{name}@{budget}t").score(whole)
        assert metrics.build(f"{name}@{budget}t").score(cut) == at_once
        everything = metrics.build(f"{name}@1").score(whole).value
        assert metrics.build(f"{name}@{len(pieces)}").score(cut).value == everything
