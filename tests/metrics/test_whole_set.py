"""Metrics of the whole set: values from summed counts, never a mean; and their intervals."""

import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from scipy import stats

from harness.errors import SpecError
from harness.metrics import metrics, named_metrics
from harness.records import Answer, Case, Failure, Question, Score, not_scored
from harness.runs import scoring
from harness.stats.aggregate_scores import aggregate, whole_set_interval
from harness.stats.intervals import mean_interval
from harness.text.words import tokenise


def case(said, references=(), declined=False, answerable=True, failure=None):
    answer = None if said is None else Answer(said, declined)
    question = Question("q", "?", answers=tuple(references), answerable=answerable)
    return Case(question, answer=answer, failure=failure)


def scores(name, cases):
    return [row[name] for row in scoring.score_all([named_metrics.build_metric(name)], cases)]


def whole(name, cases):
    return aggregate(scores(name, cases), metrics.build(name).total)


FIVE = ["the cat sat on the mat today", "yes", "no", "Paris is", "blue"]


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


def share(sums):
    return sums[0] / sums[1] if sums[1] else None


def test_the_interval_of_a_mean_written_as_a_ratio_of_sums_is_that_of_the_mean():
    values = np.random.default_rng(7).beta(0.5, 1.5, size=40).tolist()
    hits = [float(value > 0.4) for value in values]
    for scores, method in ((values, "t"), (hits, "wilson")):
        ratio, mean = (
            whole_set_interval([(each, 1.0) for each in scores], share),
            mean_interval(scores),
        )

        assert ratio.method == mean.method == method
        assert (ratio.low, ratio.high) == pytest.approx((mean.low, mean.high), abs=1e-9)


def test_questions_that_count_nowhere_are_not_in_n():
    # 20 of 24 declined rightly, among 180 questions: what Wilson says of 20 of 24.
    counts = [(1.0, 1.0)] * 20 + [(0.0, 1.0)] * 4 + [(0.0, 0.0)] * 156
    theirs = stats.binomtest(20, 24).proportion_ci(0.95, method="wilson")
    found = whole_set_interval(counts, share)

    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_the_interval_of_a_ratio_is_near_the_one_that_scipy_draws():
    source = np.random.default_rng(7)
    below = source.integers(1, 9, size=60).astype(float)
    above = source.binomial(below.astype(int), 0.3).astype(float)
    found = whole_set_interval(list(zip(above, below, strict=True)), share)
    theirs = stats.bootstrap(
        (above, below),
        lambda one, other, axis: one.sum(axis) / other.sum(axis),
        paired=True,
        method="BCa",
        n_resamples=20_000,
        rng=11,
    )
    near = 0.5 * theirs.standard_error  # wider by the half questions at 0 and at 1
    assert found.method == "t"
    assert found.low == pytest.approx(theirs.confidence_interval.low, abs=near)
    assert found.high == pytest.approx(theirs.confidence_interval.high, abs=near)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([(1.0, 1.0)] * 5, "n = 5 is under 6"),
        ([(0.0, 0.0)] * 20, "the denominator is 0"),
        ([], "nothing was scored"),
        ([(1.0, 1.0)] + [(0.0, 0.0)] * 19, "n = 1 is under 6"),
        ([(1.0, 1.0)] + [(1.0, 0.0)] * 19, "it rests on one question"),
        ([(3.0, 1.0)] * 20, "not from 0 to 1"),
    ],
)
def test_a_number_of_the_whole_set_may_have_no_interval(counts, reason):
    found = whole_set_interval(counts, share)

    assert (found.low, found.high, found.method, found.reason) == (None, None, "none", reason)
