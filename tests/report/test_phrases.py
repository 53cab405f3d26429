"""Scores in words: METRICS.md section 3."""

import pytest

from harness.report.phrases import band_word

ORDER = [
    *[(1.0, "perfect"), (0.99999, "excellent"), (0.9, "excellent"), (0.8999, "good")],
    *[(0.75, "good"), (0.5, "acceptable"), (0.4999, "poor"), (0.0, "poor"), (None, "")],
]
COVERAGE = [
    *[(1.0, "found everything"), (0.99, "good coverage"), (0.75, "good coverage")],
    *[(0.7499, "acceptable"), (0.5, "acceptable"), (0.49, "missing important information")],
]


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ("mrr ndcg passage_mrr keyword_mrr keyword_ndcg hit_rate precision", ORDER),
        ("recall evidence_recall passage_recall keyword_recall", COVERAGE),
        ("evidence_precision bertscore_recall decline_recall bleu", [(0.95, "")]),
    ],
    ids=["order", "coverage", "none"],
)
def test_a_mean_has_the_word_of_its_band(metrics, words):
    for metric in metrics.split():
        assert [band_word(metric, mean) for mean, _ in words] == [word for _, word in words]
