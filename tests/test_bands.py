"""Scores in words: METRICS.md section 3."""

import pytest

from harness.report.phrases import band_word as word


@pytest.mark.parametrize(
    "metric",
    ["mrr", "ndcg", "passage_mrr", "keyword_mrr", "keyword_ndcg", "hit_rate", "precision"],
)
@pytest.mark.parametrize(
    ("mean", "said"),
    [
        (1.0, "perfect"),
        (0.99999, "excellent"),
        (0.9, "excellent"),
        (0.8999, "good"),
        (0.75, "good"),
        (0.5, "acceptable"),
        (0.4999, "poor"),
        (0.0, "poor"),
        (None, ""),
    ],
)
def test_how_good_an_order_is(metric, mean, said):
    assert word(metric, mean) == said


@pytest.mark.parametrize(
    "metric", ["recall", "evidence_recall", "passage_recall", "keyword_recall"]
)
@pytest.mark.parametrize(
    ("mean", "said"),
    [
        (1.0, "found everything"),
        (0.99, "good coverage"),
        (0.75, "good coverage"),
        (0.7499, "acceptable"),
        (0.5, "acceptable"),
        (0.49, "missing important information"),
        (None, ""),
    ],
)
def test_how_much_was_found(metric, mean, said):
    assert word(metric, mean) == said


@pytest.mark.parametrize(
    "metric", ["evidence_precision", "bertscore_recall", "decline_recall", "bleu"]
)
def test_other_metrics_have_no_words(metric):
    assert word(metric, 0.95) == ""
