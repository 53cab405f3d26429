"""The cells of a run side by side: which are compared, on which questions, by which metrics."""

import numpy as np
import pytest

from harness.comparison.cell_differences import CellDifferences
from harness.stats.differences import estimate_differences
from harness.stats.intervals import mean_interval, student
from harness.stats.max_t import whole_set_p_value
from harness.stats.paired_units import PairedScores
from tests.runs_made import stored


def values(seed, n=30, mean=0.5):
    return np.random.default_rng(seed).uniform(mean - 0.3, mean + 0.3, n).round(3).tolist()


class TestAgainstTheBaseline:
    def test_every_other_cell_by_every_metric_is_one_family(self):
        cells = {
            name: {"ndcg": values(at), "bleu": values(at + 9)} for at, name in enumerate("abc")
        }
        found = CellDifferences(stored(cells, baseline="b")).against_baseline

        assert list(found) == [("a", "ndcg"), ("a", "bleu"), ("c", "ndcg"), ("c", "bleu")]
        assert {each.family for each in found.values()} == {4}
        difference = found["c", "bleu"].difference
        assert difference == pytest.approx(
            np.mean(cells["c"]["bleu"]) - np.mean(cells["b"]["bleu"])
        )

    def test_better_is_better_than_the_baseline_and_worse_is_worse(self):
        middle = values(1)
        cells = {
            "low": {"ndcg": [each - 0.1 for each in middle]},
            "middle": {"ndcg": middle},
            "high": {"ndcg": [each + 0.1 + 0.01 * at for at, each in enumerate(middle)]},
        }
        found = CellDifferences(stored(cells, baseline="middle")).against_baseline

        high, low = found["high", "ndcg"], found["low", "ndcg"]
        assert (high.better, high.worse, low.better, low.worse) == (True, False, False, True)
        assert (low.wins, low.ties, low.losses) == (0, 0, 30)

    def test_a_descriptive_metric_is_never_tested(self):
        cells = {name: {"ndcg": values(1), "judged@5": values(2)} for name in "ab"}
        descriptive = {"judged@5": {"kind": "descriptive"}}
        found = CellDifferences(stored(cells, baseline="a", metrics=descriptive)).against_baseline
        assert list(found) == [("b", "ndcg")]

    def test_counts_of_an_indexs_own_chunks_are_tested_within_a_chunker_alone(self):
        cells = {name: {"hit_rate": values(1), "recall": values(2)} for name in "abc"}
        found = CellDifferences(
            stored(
                cells, baseline="a", chunkers={"c": "markdown"},
                metrics={"recall": {"within_chunker": True}},
            )
        ).against_baseline  # fmt: skip

        assert list(found) == [("b", "hit_rate"), ("b", "recall"), ("c", "hit_rate")]
        assert {each.family for each in found.values()} == {3}

    def test_only_questions_that_both_finished_count(self):
        left, right = [0.9, 0.8, None, 0.7, 0.5], [0.4, None, None, 0.6, 0.5]
        found = CellDifferences(stored({"a": {"ndcg": right}, "b": {"ndcg": left}}, baseline="a"))

        each = found.against_baseline["b", "ndcg"]
        assert (each.n, each.unpaired) == (3, 1)
        assert each.difference == pytest.approx((0.5 + 0.1 + 0) / 3)
        assert each.reason == "n = 3 is under 6"

    def test_a_cell_that_a_run_broke_off_in_is_compared_by_what_there_is(self):
        found = CellDifferences(
            stored({"a": {"ndcg": values(1)}, "b": {"ndcg": values(2)[:10]}}, baseline="a")
        )
        assert found.against_baseline["b", "ndcg"].n == 10

    def test_without_a_baseline_or_its_cell_there_is_nothing(self):
        cells = {"a": {"ndcg": values(1)}, "b": {"ndcg": values(2)}}
        assert CellDifferences(stored(cells)).against_baseline == {}
        assert CellDifferences(stored(cells, baseline="gone")).against_baseline == {}

    def test_the_same_run_gives_the_same_numbers(self):
        cells = {name: {"ndcg": values(at)} for at, name in enumerate("abc")}
        made = [CellDifferences(stored(cells, baseline="a")).against_baseline for _ in range(2)]
        assert made[0] == made[1]

    def test_two_cells_that_answer_alike_differ_by_0_with_p_1(self):
        cells = {name: {"ndcg": values(1), "hit_rate": [0.0, 1.0] * 15} for name in "ab"}
        for each in CellDifferences(stored(cells, baseline="a")).against_baseline.values():
            assert (each.difference, each.p, each.corrected) == (0.0, 1.0, 1.0)


def share(counts):
    return counts[0] / counts[1] if counts[1] else None


class TestOfTheWholeSet:
    """The stand-in metric: the first of two summed counts divided by the second."""

    def counted(self, seed, n, rate):
        random = np.random.default_rng(seed)
        below = random.integers(0, 4, n)
        return np.stack([random.binomial(below, rate), below], axis=1).astype(float)

    def test_swaps_by_hand(self):
        # left 3/4 + 2/2, right 1/4 + 2/3: 5/6 - 3/7. Swapping the first alone: 3/6 - 5/7; the
        # second: 5/7 - 3/6; both: the mirror. 0.4048 is the greatest, and seen in two of four.
        left, right = np.array([[3.0, 4.0], [2.0, 2.0]]), np.array([[1.0, 4.0], [2.0, 3.0]])
        assert whole_set_p_value(left, right, share, 10_000, 7) == 2 / 4
        (found,) = estimate_differences([PairedScores(left, right, share)])
        assert found.difference == pytest.approx(5 / 6 - 3 / 7)
        assert (found.test, found.wins, found.ties, found.losses) == ("swap", None, None, None)

    def test_counts_with_equal_denominators_give_the_sign_flip_test(self):
        random = np.random.default_rng(3)
        left, right = random.uniform(size=(2, 11))
        counts = [np.stack([side, np.ones(11)], axis=1) for side in (left, right)]
        swapped, flipped = estimate_differences(
            [PairedScores(*counts, share), PairedScores(left, right)]
        )

        assert swapped.p == flipped.p
        assert swapped.difference == pytest.approx(flipped.difference)
        assert swapped.error == pytest.approx(flipped.error)
        assert swapped.visible == pytest.approx(flipped.visible)
        assert (swapped.low, swapped.high) == pytest.approx((flipped.low, flipped.high))

    def test_drawn_swaps_and_the_interval_of_what_each_question_adds(self):
        left, right = self.counted(1, 60, 0.8), self.counted(2, 60, 0.6)
        (found,) = estimate_differences([PairedScores(left, right, share)], seed=7)
        kept = [np.arange(60) != at for at in range(60)]
        without = [share(left[at].sum(axis=0)) - share(right[at].sum(axis=0)) for at in kept]
        added = 60 * found.difference - 59 * np.array(without)
        ends = student((found.difference + 1) / 2, added.std(ddof=1) / 2, 60)

        assert found.difference == pytest.approx(
            left[:, 0].sum() / left[:, 1].sum() - right[:, 0].sum() / right[:, 1].sum()
        )
        assert (found.low, found.high) == pytest.approx((2 * ends.low - 1, 2 * ends.high - 1))
        assert found.p < 0.05
        assert 0 < found.error < found.visible < 1

    def test_identical_counts_differ_by_0_with_p_1(self):
        counts = self.counted(1, 20, 0.5)
        (found,) = estimate_differences([PairedScores(counts, counts.copy(), share)])
        assert (found.difference, found.p, found.low) == (0.0, 1.0, None)
        assert found.reason == "the scores are identical"

    def test_an_undefined_side_is_no_test(self):
        (found,) = estimate_differences([PairedScores(np.zeros((8, 2)), np.ones((8, 2)), share)])
        assert found.reason == "the denominator is 0"
        assert (found.difference, found.p, found.corrected, found.family) == (None, None, None, 0)

    def test_swaps_that_leave_a_side_undefined_count_against_it(self):
        # Swapping either question alone leaves one side without a denominator.
        left = np.array([[0.0, 1.0], [0.0, 0.0]])
        right = np.array([[0.0, 0.0], [1.0, 1.0]])
        assert whole_set_p_value(left, right, share, 10_000, 7) == 4 / 4

    def test_a_run_that_stores_counts(self):
        cells = {
            "a": {"decline_precision": [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]] * 5},
            "b": {"decline_precision": [[1.0, 1.0], [1.0, 1.0], None] * 5},
        }
        whole = {"decline_precision": {"kind": "whole set"}}
        found = CellDifferences(stored(cells, baseline="a", metrics=whole)).against_baseline

        each = found["b", "decline_precision"]
        assert each.difference == 0.5
        assert (each.n, each.unpaired) == (10, 5)
        assert each.p == 2 / 2**5


class TestClusters:
    def test_whole_clusters_are_flipped(self):
        # Clusters of 3, 1 and 2 questions with sums 0.5, 0.25 and -0.25: of the 8 patterns the sum
        # 0.5 is reached by + + -, + - +, and + + + is 0.5 itself: count |sum| ≥ 0.5.
        left = np.array([0.5, 0.25, 0.0, 0.25, 0.0, 0.0])
        right = np.array([0.25, 0.0, 0.0, 0.0, 0.25, 0.0])
        (found,) = estimate_differences(
            [PairedScores(left, right, clusters=np.array([0, 0, 0, 1, 2, 2]))]
        )
        sums = [
            abs(0.5 * a + 0.25 * b - 0.25 * c) for a in (1, -1) for b in (1, -1) for c in (1, -1)
        ]
        assert found.p == np.mean([each >= 0.5 for each in sums]) == 6 / 8
        assert found.reason == "clusters: 3 is under 6"
        assert found.n == 6
        assert (found.wins, found.ties, found.losses) == (3, 2, 1)

    def test_the_interval_is_that_of_a_mean_over_clusters(self):
        random = np.random.default_rng(4)
        clusters = np.repeat(np.arange(20), random.integers(1, 6, 20))
        luck = random.normal(0.1, 0.2, 20)[clusters]
        left, right = np.maximum(luck, 0), np.maximum(-luck, 0)
        (found,) = estimate_differences([PairedScores(left, right, clusters=clusters)], seed=7)
        ends = mean_interval((luck + 1) / 2, clusters.tolist())

        assert found.method == "t"
        assert (found.low, found.high) == pytest.approx((2 * ends.low - 1, 2 * ends.high - 1))
        (loose,) = estimate_differences([PairedScores(left, right)], seed=7)
        assert found.high - found.low > 1.3 * (loose.high - loose.low)

    def test_clusters_of_one_question_change_nothing(self):
        left, right = np.random.default_rng(5).uniform(size=(2, 40))
        one, other = estimate_differences(
            [PairedScores(left, right), PairedScores(left, right, clusters=np.arange(40))], seed=7
        )
        assert (one.p, one.visible, one.error) == pytest.approx(
            (other.p, other.visible, other.error)
        )
        assert (one.low, one.high) == pytest.approx((other.low, other.high))

    def test_a_metric_of_0_and_1_is_flipped_by_cluster_too(self):
        left = np.array([1.0, 1.0, 1.0, 0.0] * 6)
        (found,) = estimate_differences(
            [PairedScores(left, np.zeros(24), clusters=np.arange(24) // 4)]
        )
        assert (found.test, found.p) == ("sign-flip", 2 / 2**6)

    def test_a_run_s_own_clusters_are_used(self):
        cells = {"a": {"ndcg": values(1)}, "b": {"ndcg": values(2)}}
        alone = CellDifferences(stored(cells, baseline="a")).against_baseline["b", "ndcg"]
        threes = [f"q{at - at % 3}" for at in range(30)]
        joined = CellDifferences(stored(cells, baseline="a", clusters=threes)).against_baseline[
            "b", "ndcg"
        ]
        assert joined.difference == alone.difference
        assert joined.p == pytest.approx(2 * round(joined.p * 2**10 / 2) / 2**10)
        assert joined.p != alone.p
