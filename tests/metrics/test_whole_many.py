"""Metrics of the whole set, of many draws at once: the same as one at a time."""

import numpy as np
import pytest

from harness.metrics import metrics
from harness.metrics.named_metrics import total_of
from harness.stats.aggregate_scores import whole_set_interval
from harness.stats.max_t import whole_set_p_value

WHOLE = sorted(name for name in metrics if metrics[name].kind == "whole set")


def counts(name: str, rows: int, most: int = 30):
    """Return counts that could be of so many answers, and some that are 0."""
    generator = np.random.default_rng(7)
    if name != "corpus_bleu":
        below = generator.integers(0, 2, rows)
        return np.stack([below * generator.integers(0, 2, rows), below], axis=1).astype(float)
    lengths = generator.integers(0, most, rows)
    totals = np.maximum(lengths[:, None] - np.arange(4), 0)
    correct = generator.binomial(totals, [0.6, 0.4, 0.3, 0.2])
    wanted = generator.integers(1, most, rows)
    return np.column_stack([correct, totals, lengths, wanted]).astype(float)


@pytest.mark.parametrize("name", WHOLE)
def test_intervals_and_tests_are_the_same_with_and_without_it(name):
    total = total_of(metrics.build(name))
    left, right = counts(name, 40), counts(name, 60)[20:]

    def alone(sums):
        return total.total(sums)

    one, other = (whole_set_interval(left.tolist(), each) for each in (total, alone))
    assert one.method == other.method
    assert one.low == pytest.approx(other.low, abs=1e-12)
    assert one.high == pytest.approx(other.high, abs=1e-12)
    assert whole_set_p_value(left, right, total, 2_000, 7) == whole_set_p_value(
        left, right, alone, 2_000, 7
    )
