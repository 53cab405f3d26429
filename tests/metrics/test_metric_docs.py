"""What a metric's docstring and facts tell a reader: held for every metric there is."""

import re
from typing import get_args, get_type_hints

import pytest

from harness.cli import catalogue
from harness.metrics import metrics
from harness.metrics.facts import MetricFacts
from harness.registry import description, full_label, summary
from harness.report import terminal

RANGE = re.compile(r"(From 0 to 1|0 or 1 a question)\. Source: ")
ORDER = re.compile(r"(not )?order-aware( (only|but|within|where) [^.]+)?")


@pytest.mark.parametrize("name", list(metrics))
def test_its_docstring_gives_its_range_and_its_source(name):
    said = description(metrics[name])

    assert said.startswith(summary(metrics[name]))
    assert RANGE.search(said)


@pytest.mark.parametrize("name", list(metrics))
def test_its_facts_say_when_to_use_it_what_it_cannot_see_and_its_family(name):
    facts = metrics[name].facts

    assert facts.formula
    assert facts.family in get_args(get_type_hints(MetricFacts)["family"])
    assert ORDER.fullmatch(facts.order)
    for each in (facts.use, facts.blind, facts.higher_k):
        assert "\n" not in each
        assert not each.endswith(".")
    assert facts.use
    assert facts.blind


@pytest.mark.parametrize("name", list(metrics))
def test_what_its_facts_say_is_not_said_again_in_its_docstring(name):
    said = description(metrics[name])

    assert "Use it " not in said
    assert "cannot see " not in said
    assert "order-aware" not in said


def test_the_description_is_the_whole_docstring_on_one_line():
    assert description(metrics["mrr"]) == (
        "1 / rank of the first relevant item, 0 if none (within k); its mean is the MRR. "
        "1: the first item is relevant. 0.5: the second is the first that is. 0: none. "
        "From 0 to 1. Source: trec_eval `recip_rank`."
    )


def test_the_catalogue_tells_formula_example_use_and_family():
    said = " ".join(terminal.render(catalogue.details("metrics")).partition("\nmrr\n")[2].split())

    assert (
        "formula: 1 / rank of the first relevant item, 0 if none in the top k "
        "example: First relevant at ranks 3, 1 and 2 over three questions: "
        "(1/3 + 1/1 + 1/2) / 3 = 0.6111. "
        "use it: when one good result is wanted "
        "it cannot see: anything after the first relevant item "
        "family: binary, order-aware "
        "a higher k: never lowers it, and adds little: a first relevant item at rank 10 counts 0.1 "
        "parameters: k: none labels: none rel: none needs: ranking"
    ) in said


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("bleu", "bleu(smoothing=1, tokens=words)"),
        ("recall(labels=documents)@5", "recall(k=5, labels=documents, rel=none)"),
        ("mrr", "mrr(k=none, labels=none, rel=none)"),
        ("exact_match", "exact_match"),
    ],
)
def test_in_full_names_the_defaults_too(spec, said):
    assert full_label(metrics.build(spec)) == said
