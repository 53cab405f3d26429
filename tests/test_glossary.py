"""The glossary: every metric of a run, and every other term that a reader of it meets."""

from dataclasses import replace
from math import log2

import numpy as np
import pytest

from harness import api
from harness.config.run_config import load
from harness.metrics import metrics
from harness.registry import label
from harness.report import phrases
from harness.report.document import Fold, GlossaryEntry
from harness.report.run_view import View
from harness.report.sections import glossary
from harness.runs import runner
from harness.stats import intervals, max_t
from harness.store import reader
from harness.store.run_file import MetricDescription
from tests.metrics.test_every_metric import specs
from tests.small import project
from tests.worked import rounding, sums, worked_out

METRICS = ["recall@2", "mrr", "recall(labels=documents)@3", "passage_recall@100t", "bleu"]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    settings = {
        "decide_by": "mrr",
        "targets": {"recall@2": 0.75},
        "baseline": {"retriever": "bm25"},
    }
    config = project(tmp_path_factory.mktemp("glossary"), metrics=METRICS, **settings)
    return reader.load(api.run(runner.prepare(load(config, [], {})), lambda *_: None).folder)


def entries(stored):
    return {
        each.term: each for each in glossary.blocks(View(stored)) if isinstance(each, GlossaryEntry)
    }


def changed(stored, **about):
    """Return the run with other metrics, configuration or records."""
    run = stored.run
    if "metrics" in about:
        provenance = replace(run.provenance, metrics=about.pop("metrics"))
        run = replace(run, provenance=provenance)
    if "resolved" in about:
        config = {"resolved": {**run.config["resolved"], **about.pop("resolved")}}
        run = replace(run, config=config)
    records = about.pop("records", stored.records)
    return replace(stored, run=replace(run, **about), records=records)


def test_each_metric_has_one_entry_whatever_it_is_cut_at_or_judged_by(stored):
    found = entries(stored)

    assert list(found)[:4] == ["recall", "mrr", "passage_recall", "bleu"]
    assert found["recall"] == GlossaryEntry(
        "recall",
        "Relevant items in the top k, divided by all relevant items there are.",
        "relevant in the top k / all relevant",
        "Relevant at ranks 1, 2 and 3 of 5, four in all: 3 / 4 = 0.75.",
        [
            ("Use it", "when the model needs the complete context"),
            ("It cannot see", "what stands between the relevant items"),
            ("Family", "binary, not order-aware"),
            (
                "A higher k",
                "never lowers it; the model has more to read, and precision usually falls",
            ),
            (
                "In words",
                "found everything from 1, good coverage from 0.75, acceptable from 0.5, "
                "below missing important information",
            ),
            ("Also", "From 0 to 1. Source: trec_eval recall_k."),
            ("Version", "2"),
            ("recall@2", "recall(k=2, labels=evidence, rel=1), judged by evidence"),
            (
                "recall(labels=documents)@3",
                "recall(k=3, labels=documents, rel=1), judged by documents",
            ),
        ],
    )


def test_parameters_that_nobody_gave_are_there_too(stored):
    found = entries(stored)

    assert found["bleu"].rows[-1] == ("bleu", "bleu(smoothing=1, tokens=words)")
    assert found["mrr"].rows[-1] == (
        "mrr",
        "mrr(k=none, labels=evidence, rel=1), judged by evidence",
    )


def test_every_metric_there_is_has_a_whole_entry(stored):
    lines = {}
    for name in metrics:
        metric = metrics.build(specs(name)[0])
        about = {"own_chunks": False, "within_chunker": False, "about": "", "labels": None}
        lines[name] = MetricDescription(
            spec=label(metric), version=metric.version, kind=metric.kind, **about
        )
    found = entries(changed(stored, metrics=lines, records=()))

    assert list(found)[: len(lines)] == list(lines)
    for name in lines:
        entry = found[name]
        assert entry.said
        assert entry.formula
        assert entry.example == metrics[name].facts.example.text
        assert {"Use it", "It cannot see", "Family", "Version"} <= {what for what, _ in entry.rows}
        assert all(what and said for what, said in entry.rows)


def test_the_discounts_are_those_that_dcg_uses(stored):
    fold = glossary.blocks(View(stored))[-1]
    rows = fold.blocks[0].rows

    assert isinstance(fold, Fold)
    assert rows[:3] == [["1", "1.0000"], ["2", "0.6309"], ["3", "0.5000"]]
    assert rows[-1] == ["20", "0.2277"]
    assert [float(value) for _, value in rows] == pytest.approx(
        [1 / log2(rank + 1) for rank in range(1, 21)], abs=5e-5
    )


def test_the_examples_of_terms_hold(stored):
    said = [each.example for each in entries(stored).values()]

    assert sum(bool(list(sums(each))) for each in said) == len([each for each in said if each])
    for example in said:
        for term, value in sums(example):
            assert worked_out(term) == pytest.approx(worked_out(value), abs=rounding(value))
    interval = intervals.mean_interval([1.0] * 20)
    assert (round(interval.low, 3), interval.high) == (0.832, 1.0)
    assert "= 0.832 to 1" in entries(stored)["Interval"].example
    p = max_t.max_t(np.ones((8, 1)), [], 0).p[0]
    assert f"2 / 2^8 = {p:.4f}" in entries(stored)["Test and superscript"].example


def test_draws_and_thresholds_are_those_of_the_code(stored):
    found = entries(stored)

    assert f"{max_t.DRAWS:,} times" in dict(found["Test and superscript"].rows)["Draw"]
    assert dict(found["Bands"].rows) == {
        "recall, passage_recall": glossary.describe_scale(phrases.band_scale("recall")),
        "mrr": "perfect from 1, excellent from 0.9, good from 0.75, acceptable from 0.5, "
        "below poor",
    }


@pytest.mark.parametrize("metric", ["recall", "mrr"])
def test_a_scale_says_from_where_on_each_word_is_for(metric):
    for least, word in phrases.band_scale(metric):
        assert phrases.band_word(metric, least) == word
    assert phrases.band_scale("bleu") == ()


def test_terms_are_there_when_the_run_has_what_they_are_of(stored):
    found = entries(stored)

    assert "Judged share" in found
    assert dict(found["Target"].rows) == {"recall@2": "0.75"}
    assert dict(found["Test and superscript"].rows)["Superscript"].startswith("+ is significantly")
    assert dict(found["k"].rows)["Retrieved"] == "5 a question, and no k reads further"
    assert dict(found["k"].rows)["Sent to the generator"] == "at most 2 chunks or 200 tokens"
    assert dict(found["n"].rows)["Failed"].endswith("it counts 0, as the user got nothing")


def test_terms_are_left_out_where_the_run_has_nothing_of_the_kind(stored):
    lines = stored.run.provenance.metrics
    bare = changed(
        stored,
        metrics={"bleu": lines["bleu"]},
        cells=stored.run.cells[:1],
        targets={},
        records=tuple(replace(record, lost_at=None) for record in stored.records),
    )

    assert list(entries(bare)) == ["bleu", "n", "Interval", "Discount"]


def test_without_a_baseline_there_is_no_superscript(stored):
    found = entries(changed(stored, baseline=None))

    assert "Superscript" not in dict(found["Test and superscript"].rows)


def test_clusters_are_named_where_they_were_drawn(stored):
    assert "Clusters" not in dict(entries(stored)["Interval"].rows)
    found = entries(changed(stored, resolved={"clusters": True}))

    assert dict(found["Interval"].rows)["Clusters"] == (
        "Questions that share evidence count as one; n is the number of clusters."
    )


def test_where_an_answer_was_lost_is_explained_stage_by_stage(stored):
    first, *others = stored.records
    records = (replace(first, lost_at="retrieval"), *others)
    test = {"answer_test": {"metric": "token_f1", "min": 0.5}}
    rows = dict(entries(changed(stored, records=records, resolved=test))["Lost at"].rows)

    assert list(rows) == [
        "chunking",
        "index",
        "retrieval",
        "reranking",
        "context",
        "generation",
        "none",
        "Answered",
    ]
    assert rows["Answered"] == "metric token_f1; min 0.5"


def test_of_a_system_of_the_users_nothing_is_said_that_the_harness_did_not_do(stored):
    found = entries(changed(stored, resolved={"system": [{"http": {}}]}))

    assert [what for what, _ in found["k"].rows] == ["A higher k buys", "It costs"]
