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
from tests.support.small import project
from tests.support.worked import rounding, sums, worked_out

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
