"""The cells of a run side by side: which are compared, on which questions, by which metrics."""

import numpy as np
import pytest

from harness.comparison.cell_differences import CellDifferences
from tests.support.runs_made import stored


def values(seed, n=30, mean=0.5):
    return np.random.default_rng(seed).uniform(mean - 0.3, mean + 0.3, n).round(3).tolist()


def against(cells, **rest):
    return CellDifferences(stored(cells, **rest)).against_baseline


def test_every_other_cell_by_every_metric_is_one_family():
    cells = {name: {"ndcg": values(at), "bleu": values(at + 9)} for at, name in enumerate("abc")}
    found = against(cells, baseline="b")

    assert list(found) == [("a", "ndcg"), ("a", "bleu"), ("c", "ndcg"), ("c", "bleu")]
    assert {each.family for each in found.values()} == {4}
    difference = np.mean(cells["c"]["bleu"]) - np.mean(cells["b"]["bleu"])
    assert found["c", "bleu"].difference == pytest.approx(difference)
    assert against(cells, baseline="b") == found


def test_better_is_better_than_the_baseline_and_worse_is_worse():
    middle = values(1)
    cells = {
        "low": {"ndcg": [each - 0.1 for each in middle]},
        "middle": {"ndcg": middle},
        "high": {"ndcg": [each + 0.1 + 0.01 * at for at, each in enumerate(middle)]},
    }
    found = against(cells, baseline="middle")

    high, low = found["high", "ndcg"], found["low", "ndcg"]
    assert (high.better, high.worse, low.better, low.worse) == (True, False, False, True)
    assert (low.wins, low.ties, low.losses) == (0, 0, 30)


def test_descriptive_metrics_and_own_chunks_of_another_chunker_are_never_tested():
    cells = {name: {"ndcg": values(1), "judged@5": values(2), "own": values(3)} for name in "abc"}
    kinds = {"judged@5": {"kind": "descriptive"}, "own": {"within_chunker": True}}
    found = against(cells, baseline="a", metrics=kinds, chunkers={"c": "markdown"})

    assert list(found) == [("b", "ndcg"), ("b", "own"), ("c", "ndcg")]


def test_only_questions_that_both_finished_count():
    left, right = [0.9, 0.8, None, 0.7, 0.5], [0.4, None, None, 0.6, 0.5]
    each = against({"a": {"ndcg": right}, "b": {"ndcg": left}}, baseline="a")["b", "ndcg"]

    assert (each.n, each.unpaired, each.reason) == (3, 1, "n = 3 is under 6")
    assert each.difference == pytest.approx((0.5 + 0.1 + 0) / 3)


def test_a_cell_that_a_run_broke_off_in_is_compared_by_what_there_is():
    found = against({"a": {"ndcg": values(1)}, "b": {"ndcg": values(2)[:10]}}, baseline="a")
    assert found["b", "ndcg"].n == 10


@pytest.mark.parametrize("baseline", [None, "gone"])
def test_without_a_baseline_or_its_cell_there_is_nothing(baseline):
    assert against({"a": {"ndcg": values(1)}, "b": {"ndcg": values(2)}}, baseline=baseline) == {}


def test_counts_of_a_metric_of_the_whole_set_are_swapped():
    cells = {
        "a": {"decline_precision": [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]] * 5},
        "b": {"decline_precision": [[1.0, 1.0], [1.0, 1.0], None] * 5},
    }
    whole = {"decline_precision": {"kind": "whole set"}}
    each = against(cells, baseline="a", metrics=whole)["b", "decline_precision"]

    assert (each.difference, each.n, each.unpaired, each.p) == (0.5, 10, 5, 2 / 2**5)


def test_a_run_s_own_clusters_are_flipped_whole():
    cells = {"a": {"ndcg": values(1)}, "b": {"ndcg": values(2)}}
    alone = against(cells, baseline="a")["b", "ndcg"]
    threes = [f"q{at - at % 3}" for at in range(30)]
    joined = against(cells, baseline="a", clusters=threes)["b", "ndcg"]

    assert joined.difference == alone.difference
    assert joined.p == pytest.approx(2 * round(joined.p * 2**10 / 2) / 2**10)
    assert joined.p != alone.p
