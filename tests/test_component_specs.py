"""How metrics are named: every form of a spec, and what a bad one is told."""

import pytest

from harness.embedders import embedders
from harness.errors import SpecError
from harness.metrics import metrics, named_metrics
from harness.metrics.named_metrics import usual_name
from harness.registry import label
from harness.rerankers import rerankers


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({"recall": {"k": 5}}, "recall@5"),
        ({"recall@5": None}, "recall@5"),
        ({"recall@5": {"rel": 2}}, "recall(rel=2)@5"),
        (" ndcg( gain = exponential ) @10 ", "ndcg(gain=exponential)@10"),
        ("recall(labels=documents, rel=2)@5", "recall(labels=documents, rel=2)@5"),
        ("recall(labels=none)@5", "recall@5"),
        ({"evidence_recall": {"budget": 1000}}, "evidence_recall@1000t"),
        ({"passage_recall": {"k": 5, "whole": 0.8}}, "passage_recall(whole=0.8)@5"),
        ({"rougeL": {"stemmer": True}}, "rougeL(stemmer=True)"),
        ({"composite": {"weights": {"bleu": 0.25, "recall@5": 0.75}}}, None),
        ("composite(weights=0.5*bleu(smoothing=2, tokens=whitespace) + 0.5*ndcg@10)", None),
    ],
)
def test_every_form_of_a_spec_reads_back_from_its_label(spec, name):
    metric = metrics.build(spec)

    assert name is None or label(metric) == name
    assert metrics.build(label(metric)) == metric


def test_an_alias_is_shown_as_it_was_typed():
    assert named_metrics.build_metric("map@5") == named_metrics.NamedMetric(
        "map@5", named_metrics.build_metric("ap@5").metric
    )


@pytest.mark.parametrize(
    ("spec", "what", "hint"),
    [
        ("recal@5", "unknown metric 'recal'", "did you mean 'recall'? choose from: abstention, a"),
        ("zzz", "unknown metric 'zzz'", "choose from: abstention, answer_relevance, ap"),
        ({"ndcg": {"gian": "x"}}, "metric 'ndcg' has no parameter 'gian'", "did you mean 'gain'?"),
        ("ap(level=2)", "metric 'ap' has no parameter 'level'", "choose from: denominator, k"),
        ("bleu@5", "metric 'bleu' has no cut-off @k", "choose from: smoothing, tokens"),
        ("recall@100t", "metric 'recall' has no token budget @...t", "choose from: k, labels, rel"),
        ("exact_match(x=1)", "metric 'exact_match' has no parameter 'x'", "it takes no parameters"),
        ("recall", "metric 'recall': a cut-off is needed: @5", ""),
        ("precision", "metric 'precision': a cut-off is needed: @5", ""),
        ("f1", "metric 'f1': a cut-off is needed: @5", ""),
        ("recall@0", "metric 'recall': k: Input should be greater than 0, not 0", ""),
        ({"recall": {"k": "five"}}, "metric 'recall': k: Input should be a valid integer", ""),
        ("recall(rel=0)@5", "metric 'recall': rel: Input should be greater than or equal to 1", ""),
        ("ndcg(gain=cubic)", "metric 'ndcg': gain: Input should be 'linear' or 'exponential'", ""),
        (
            "passage_recall",
            "metric 'passage_recall': a cut-off is needed: @5 (chunks) or @1000t",
            "",
        ),
        ({"recall": 5}, "the parameters of 'recall' must be a mapping, not 5", ""),
        ({"recall": {}, "bleu": {}}, "expected one name, found 2: recall, bleu", ""),
        ({}, "expected one name, found 0: none", ""),
        (5, "expected a name or a mapping, found 5", ""),
        ("recall@5@5", "'recall@5@5' is not of the form name(option=value, ...)@k", ""),
        ("recall(k)", "'recall(k)': 'k' is not of the form option=value", ""),
        ("bleu(smoothing=5)", "metric 'bleu': smoothing: method 5 can give more than 1; use 1", ""),
        ("bleu(smoothing=6)", "metric 'bleu': smoothing: method 6 gives up where answer and", ""),
        ("bleu(smoothing=7)", "metric 'bleu': smoothing: method 7 can give more than 1; use 1", ""),
        (
            "bleu(smoothing=8)",
            "metric 'bleu': smoothing: Input should be less than or equal to 7",
            "",
        ),
    ],
)
def test_a_bad_spec_says_what_is_wrong_and_what_would_be_right(spec, what, hint):
    with pytest.raises(SpecError) as caught:
        metrics.build(spec)

    assert caught.value.what.startswith(what)
    assert caught.value.hint.startswith(hint)
    assert bool(caught.value.hint) == bool(hint)


@pytest.mark.parametrize(
    ("elsewhere", "here"),
    [
        ("NDCG@10", "ndcg@10"),
        ("ndcg_cut_10", "ndcg@10"),
        ("P_5", "precision@5"),
        ("P.5", "precision@5"),
        ("map", "ap"),
        ("MAP@5", "ap@5"),
        ("recip_rank", "mrr"),
        ("RR@10", "mrr@10"),
        ("Rprec", "r_precision"),
        ("recall_5", "recall@5"),
        ("success_3", "hit_rate@3"),
        ("NDCG(gain=exponential)@2", "ndcg(gain=exponential)@2"),
        ("mypkg.Metrics:NDCG@3", "mypkg.Metrics:NDCG@3"),
        ("nothing@5", "nothing@5"),
    ],
)
def test_a_metric_is_known_by_its_names_elsewhere(elsewhere, here):
    assert usual_name(elsewhere) == here


@pytest.mark.parametrize(
    ("registry", "model", "hint"),
    [
        (embedders, "sentence-transformers/all-MiniLM-L6-v2", "sentence_transformer: {model: "),
        (rerankers, "BAAI/bge-reranker-base", "cross_encoder: {model: "),
    ],
)
def test_a_model_in_the_place_of_a_component_is_answered_with_what_to_write(registry, model, hint):
    with pytest.raises(SpecError) as caught:
        registry.build(model)

    assert caught.value.what == f"{model!r} is the name of a model, no {registry.family}"
    assert caught.value.hint == f"write {{{hint}{model}}}}}"
