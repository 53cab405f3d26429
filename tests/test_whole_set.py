"""Metrics of the whole set: values from summed counts, never a mean; and their intervals."""

import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from scipy import stats

from harness import scoring
from harness.errors import SpecError
from harness.metrics import metrics
from harness.records import Answer, Case, Failure, Question, Score, not_scored
from harness.statistics.aggregate import aggregate
from harness.statistics.intervals import interval, interval_of_whole
from harness.tokens import tokenise


def case(said, references=(), declined=False, answerable=True, failure=None):
    answer = None if said is None else Answer(said, declined)
    question = Question("q", "?", answers=tuple(references), answerable=answerable)
    return Case(question, answer=answer, failure=failure)


def scores(name, cases):
    return [row[name] for row in scoring.score_all([scoring.build(name)], cases)]


def whole(name, cases):
    return aggregate(scores(name, cases), seed=7, total=metrics.build(name).total)


FIVE = ["the cat sat on the mat today", "yes", "no", "Paris is", "blue"]


def test_five_answers_equal_to_their_references_have_corpus_bleu_1():
    line = whole("corpus_bleu", [case(each, (each,)) for each in FIVE])

    assert line.mean == line.mean_finished == pytest.approx(1.0)
    assert (line.n, line.failed, line.not_scored) == (5, 0, 0)


def answered(count, seed):
    """Return random (answer, references) over few words; some answers are empty."""
    source = random.Random(seed)
    words = ["The", "moon,", "is", "far", "Far", "384,400", "km.", "(air)"]

    def text(least):
        return " ".join(source.choices(words, k=source.randint(least, 15)))

    return [(text(0), [text(1) for _ in range(source.randint(1, 3))]) for _ in range(count)]


@pytest.mark.parametrize("tokens", ["words", "whitespace"])
@pytest.mark.parametrize("seed", range(20))
def test_corpus_bleu_is_sacrebleu_s_of_all_answers_together(tokens, seed):
    pairs = answered(5 + seed, seed)
    said = [" ".join(tokenise(answer, tokens)) for answer, _ in pairs]
    wanted = [
        [" ".join(tokenise(refs[at], tokens)) if at < len(refs) else None for _, refs in pairs]
        for at in range(3)
    ]
    theirs = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(said, wanted)
    line = whole(f"corpus_bleu(tokens={tokens})", [case(*pair) for pair in pairs])

    assert line.mean == pytest.approx(theirs.score / 100, abs=1e-9)


def test_an_empty_answer_shortens_the_corpus_and_a_missing_reference_leaves_it_out():
    right = case(FIVE[0], (FIVE[0],))
    # 7 tokens of 14 wanted: the brevity penalty is e^(1 - 14/7).
    assert whole("corpus_bleu", [right, case("", (FIVE[0],))]).mean == pytest.approx(np.exp(-1))
    line = whole("corpus_bleu", [right, case("zzz"), case("zzz", ("x",), answerable=False)])
    assert (line.mean, line.n, line.not_scored) == (pytest.approx(1.0), 1, 2)


# By hand: 3 declined, of which 2 rightly; 4 unanswerable, of which 2 declined.
DECLINES = [
    case("", declined=True, answerable=False),
    case("I don't know.", declined=True, answerable=False),
    case("", ("far",), declined=True),
    case("far", answerable=False),
    case("near", answerable=False),
    case("far", ("far",)),
]


def test_decline_precision_and_recall_are_shares_of_the_whole_set():
    assert whole("decline_precision", DECLINES).mean == pytest.approx(2 / 3)
    assert whole("decline_recall", DECLINES).mean == pytest.approx(2 / 4)
    assert whole("decline_recall", DECLINES).n == 6


def test_without_a_denominator_there_is_no_value_and_a_reason():
    nobody = whole("decline_precision", [case("far", ("far",))] * 8)
    nothing = whole("decline_recall", [case("", ("far",), declined=True)] * 8)

    assert nobody.mean is nothing.mean is None
    assert (nobody.low, nothing.low) == (None, None)
    assert nobody.note == nothing.note == "the denominator is 0"
    assert whole("decline_precision", [case("far", ("far",))]).note == "the denominator is 0"


def test_where_every_answer_failed_nothing_was_scored_and_the_reason_says_so():
    lost = [case(None, ("far",), failure=Failure("generation", "429"))] * 8
    line = whole("corpus_bleu", lost)

    assert (line.mean, line.n, line.failed) == (None, 8, 8)
    assert line.note == "nothing was scored"


def test_a_failure_is_no_decline_and_is_counted_beside():
    failed = case(None, answerable=False, failure=Failure("generation", "429"))
    line = whole("decline_recall", [*DECLINES, failed])

    assert (line.mean, line.n, line.failed) == (pytest.approx(0.5), 7, 1)
    assert scores("decline_recall", [failed]) == [Score(None, "generation: 429", "failed")]
    assert scores("decline_recall", [case(None)]) == [not_scored("nothing was answered")]


@pytest.mark.parametrize("name", ["corpus_bleu", "decline_precision"])
def test_a_metric_of_the_whole_set_cannot_be_part_of_a_composite(name):
    with pytest.raises(SpecError, match=f"'{name}' gives no quality of single questions"):
        metrics.build(f"composite(weights=1*{name})")


def test_the_interval_of_a_mean_written_as_a_ratio_of_sums_is_that_of_the_mean():
    values = np.random.default_rng(7).beta(0.5, 1.5, size=40).tolist()
    ratio = interval_of_whole([(value, 1.0) for value in values], lambda sums: sums[0] / sums[1], 7)
    mean = interval(values, 7)

    assert ratio.method == mean.method == "bca"
    assert (ratio.low, ratio.high) == pytest.approx((mean.low, mean.high), abs=1e-9)


def test_the_interval_of_a_ratio_is_the_bca_interval_that_scipy_gives():
    source = np.random.default_rng(7)
    below = source.integers(1, 9, size=60).astype(float)
    above = source.binomial(below.astype(int), 0.3).astype(float)
    pairs = list(zip(above, below, strict=True))
    found = interval_of_whole(pairs, lambda sums: sums[0] / sums[1], seed=7)
    theirs = stats.bootstrap(
        (above, below),
        lambda one, other, axis: one.sum(axis) / other.sum(axis),
        paired=True,
        method="BCa",
        n_resamples=20_000,
        rng=11,
    )
    near = 0.15 * theirs.standard_error
    assert found.low == pytest.approx(theirs.confidence_interval.low, abs=near)
    assert found.high == pytest.approx(theirs.confidence_interval.high, abs=near)


def share(sums):
    return sums[0] / sums[1] if sums[1] else None


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([(1.0, 1.0)] * 5, "n = 5 is under 6"),
        ([(0.0, 0.0)] * 20, "the denominator is 0"),
        ([], "nothing was scored"),
        ([(1.0, 1.0)] + [(0.0, 0.0)] * 19, "not defined in many resamples"),
        ([(1.0, 1.0)] * 20, "the same in every resample"),
    ],
)
def test_a_number_of_the_whole_set_may_have_no_interval(counts, reason):
    found = interval_of_whole(counts, share, seed=7)

    assert (found.low, found.high, found.method, found.reason) == (None, None, "none", reason)


def test_resamples_in_which_the_number_is_not_defined_are_left_out():
    # One in 20 questions was declined at 4 places: e^-4 = 1.8 % of the draws have none.
    counts = [(1.0, 1.0), (1.0, 1.0), (0.0, 1.0), (0.0, 1.0)] + [(0.0, 0.0)] * 76
    found = interval_of_whole(counts, share, seed=7)

    assert found.method == "bca"
    assert 0.0 <= found.low < 0.5 < found.high <= 1.0
