"""What a metric's docstring tells a reader of the glossary: held for every metric there is."""

import re

import pytest

from harness.metrics import metrics
from harness.registry import description, in_full, summary

FAMILY = re.compile(
    r"(From 0 to 1|0 or 1 a question), (binary|graded), (not )?order-aware[^.]*\. Source: "
)


@pytest.mark.parametrize("name", list(metrics))
def test_it_says_when_to_use_it_what_it_cannot_see_and_where_it_is_from(name):
    said = description(metrics[name])

    assert said.startswith(summary(metrics[name]))
    assert "Source: " in said
    assert "Use it " in said
    assert "cannot see " in said


@pytest.mark.parametrize("name", list(metrics))
def test_it_says_its_range_and_its_family(name):
    assert FAMILY.search(description(metrics[name]))


def test_the_description_is_the_whole_docstring_on_one_line():
    assert description(metrics["mrr"]) == (
        "1 / rank of the first relevant item, 0 if none (within k); its mean is the MRR. "
        "Use it when one good result is wanted. It cannot see anything after the first relevant "
        "item. From 0 to 1, binary, order-aware. Source: trec_eval `recip_rank`."
    )


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
    assert in_full(metrics.build(spec)) == said
