"""One grammar for the names of components: what it reads, what it prints, what it refuses."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import pytest
from annotated_types import Gt
from hypothesis import given
from hypothesis import strategies as some

from harness.chunkers import chunkers
from harness.chunkers.fixed import Fixed
from harness.embedders import embedders
from harness.errors import SpecError, suggest
from harness.generators import generators
from harness.generators.chat import Chat
from harness.metrics import metrics
from harness.metrics.named_metrics import usual_name
from harness.registry import Registry, label, parameters, parse, summary
from harness.rerankers import Reranker, rerankers
from harness.retrievers import retrievers
from harness.retrievers.bm25 import Bm25
from harness.retrievers.hybrid import Hybrid


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("bleu", "bleu", {}),
        ("recall@5", "recall", {"k": 5}),
        ("evidence_recall@1000t", "evidence_recall", {"budget": 1000}),
        ("ndcg(gain=exponential)@10", "ndcg", {"gain": "exponential", "k": 10}),
        (
            "recall(labels=documents, rel=2)@5",
            "recall",
            {"labels": "documents", "rel": "2", "k": 5},
        ),
        ("  ndcg( gain = exponential ) @10 ", "ndcg", {"gain": "exponential", "k": 10}),
        ("bleu()", "bleu", {}),
        (
            "composite(weights=0.5*bleu(smoothing=2, tokens=words) + 0.5*recall(rel=2)@5)",
            "composite",
            {"weights": "0.5*bleu(smoothing=2, tokens=words) + 0.5*recall(rel=2)@5"},
        ),
        ('chat(model="a, b)")', "chat", {"model": "a, b)"}),
        ({"recall": {"k": 5}}, "recall", {"k": 5}),
        ({"recall@5": {"labels": "documents"}}, "recall", {"k": 5, "labels": "documents"}),
        ({"recall": None}, "recall", {}),
    ],
)
def test_every_form_is_read_as_a_name_and_parameters(text, name, params):
    assert parse(text) == (name, params)


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("recall@", "'recall@' is not of the form name(option=value, ...)@k"),
        ("recall@-1", "'recall@-1' is not of the form name(option=value, ...)@k"),
        ("recall@5@6", "'recall@5@6' is not of the form name(option=value, ...)@k"),
        ("recall(rel=2", "'recall(rel=2' is not of the form name(option=value, ...)@k"),
        ("", "'' is not of the form name(option=value, ...)@k"),
        ("recall(rel)@5", "'recall(rel)@5': 'rel' is not of the form option=value"),
        ('chat(model="a)', '"a is not a text between quotes'),
        ({"a": {}, "b": {}}, "expected one name, found 2: a, b"),
        ({}, "expected one name, found 0: none"),
        ({"recall": 5}, "the parameters of 'recall' must be a mapping, not 5"),
        (5, "expected a name or a mapping, found 5"),
    ],
)
def test_what_has_none_of_the_forms_is_refused(spec, what):
    with pytest.raises(SpecError) as caught:
        parse(spec)

    assert caught.value.what == what


def test_parameters_are_printed_where_they_differ_from_the_default():
    assert label(Bm25(k1=2.0)) == "bm25(k1=2.0)"
    assert label(Bm25(b=0.5, k1=1.5)) == "bm25(b=0.5)"
    assert label(Hybrid(of=("bm25", "dense"), c=10)) == "hybrid(of=(bm25, dense), c=10)"
    assert label(Chat("openai:m")) == "chat(model=openai:m)"


@pytest.mark.parametrize(
    ("registry", "component"),
    [
        (chunkers, Fixed(120, 7)),
        (retrievers, Hybrid(of=("bm25", "dense"), depth=5)),
        (retrievers, Bm25(stopwords="none")),
        (generators, Chat("openai:m", prompt='A, (b\n"{context}" {question} :)')),
        (generators, Chat("openai:m", decline_patterns=(r"^no,? (idea|clue)\b", '"', "", "a\\\\"))),
    ],
)
def test_what_is_printed_builds_an_equal_component(registry, component):
    assert registry.build(label(component)) == component


@given(some.one_of(some.text(), some.text(alphabet='ab ,()="\\\n@')))
def test_any_text_survives_being_printed_and_read(model):
    chat = Chat(f"openai:{model}")

    assert generators.build(label(chat)) == chat


@pytest.mark.parametrize(
    ("spec", "what", "hint"),
    [
        (
            "recal@5",
            "unknown metric 'recal'",
            "did you mean 'recall'? choose from: abstention, answer_relevance, ap, ",
        ),
        ("bleu@5", "metric 'bleu' has no cut-off @k", "choose from: smoothing, tokens"),
        (
            "recall@50t",
            "metric 'recall' has no token budget @...t",
            "choose from: k, labels, rel",
        ),
        (
            "recall(lables=documents)@5",
            "metric 'recall' has no parameter 'lables'",
            "did you mean 'labels'? choose from: k, labels, rel",
        ),
        ("ap(x=1)", "metric 'ap' has no parameter 'x'", "choose from: denominator, k, labels"),
        ("token_f1(x=1)", "metric 'token_f1' has no parameter 'x'", "it takes no parameters"),
        (
            "recall(rel=two)@5",
            "metric 'recall': rel: Input should be a valid integer, unable to parse string as an "
            "integer, not 'two'",
            "",
        ),
        (
            {"recall": {"k": True}},
            "metric 'recall': k: `yes` is no value of it",
            "",
        ),
        ("precision", "metric 'precision': a cut-off is needed: @5", ""),
    ],
)
def test_an_unknown_name_or_value_is_refused_with_what_there_is(spec, what, hint):
    with pytest.raises(SpecError) as caught:
        metrics.build(spec)

    assert caught.value.what == what
    assert caught.value.hint.startswith(hint)


def test_a_list_in_a_scalar_parameter_is_an_axis_and_in_a_listed_one_is_not():
    sizes = {"fixed": {"size": [100, 200], "overlap": [0, 10]}}
    of = {"hybrid": {"of": ["bm25", "dense"]}}

    assert [chunkers.build(each) for each in chunkers.expand(sizes)] == [
        Fixed(100, 0),
        Fixed(100, 10),
        Fixed(200, 0),
        Fixed(200, 10),
    ]
    assert retrievers.expand(of) == [of]
    assert chunkers.expand("fixed(size=120)") == ["fixed(size=120)"]


def test_a_name_offers_a_close_one_first_and_always_all_of_them():
    assert (
        suggest("dens", ["hybrid", "dense"]) == "did you mean 'dense'? choose from: dense, hybrid"
    )
    assert suggest("xyz", ["hybrid", "dense"]) == "choose from: dense, hybrid"


def test_a_component_is_named_and_documented_by_its_class_alone():
    registry: Registry[object] = Registry("toy", "harness.rerankers", Reranker)

    @registry.register
    @dataclass(frozen=True)
    class Toy:
        """Plays,
        with a size.

        It is only an example.
        """

        size: Annotated[int, Gt(0)]
        kind: Literal["a", "b"] = "a"

        name: ClassVar[str] = "toy"

    assert registry.build({"toy": {"size": 3}}) == Toy(3)
    assert registry["toy"] is Toy
    assert label(Toy(3, "b")) == "toy(size=3, kind=b)"
    assert parameters(Toy) == {"size": "required", "kind": "a"}
    assert summary(Toy) == "Plays, with a size."


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
