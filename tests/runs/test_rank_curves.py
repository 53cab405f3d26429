"""Curves over k: at each k the mean that the library's metric has."""

import random
from dataclasses import replace

import pytest

from harness.metrics import named_metrics
from harness.records import Failure, Judged, Passage, Span, StoredHit
from harness.runs import rank_curves, scoring
from harness.runs.outcomes import make_cases
from harness.runs.rank_curves import CurveReader
from tests.support.changed_runs import with_records
from tests.support.small import stored as run

BY_PASSAGE, BY_CHUNK = ("passage_recall", "evidence_precision"), ("recall", "precision")


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return run(tmp_path_factory.mktemp("many"))


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    one_cell = {"chunkers": ["markdown"], "retrievers": ["bm25"], "metrics": ["hit_rate@2"]}
    return run(tmp_path_factory.mktemp("one"), **one_cell)


def by_the_library(stored, cell, metric):
    """Return the mean of a metric over a cell's records, scored one by one by the library."""
    level = stored.run.config["resolved"]["relevance_level"]
    named = named_metrics.build_metric(metric, stored.run.provenance.labels, level)
    cases = [
        make_cases(record, stored.questions[record.question], stored.texts)[0]
        for record in stored.records_of([cell.name])
    ]
    found = [row[named.name] for row in scoring.score_all([named], cases)]
    values = [0.0 if each.state == "failed" else each.value for each in found]
    values = [value for value in values if value is not None]
    return sum(values) / len(values), len(values)


def agree(stored, measures):
    ks = rank_curves.curve_ks(stored)
    assert rank_curves.measures(stored) == measures
    read = CurveReader(stored, ks)
    for cell in stored.run.cells:
        for curve, measure in zip(read.curves(cell), measures, strict=True):
            for k, mean in zip(ks, curve.means, strict=True):
                expected, n = by_the_library(stored, cell, f"{measure}@{k}")
                assert mean == pytest.approx(expected, abs=1e-12), (cell.name, measure, k)
                assert curve.n == n


def tangled(stored, seed):
    """The run with random hits and passages: they overlap, repeat, abut and are alternatives."""
    rng = random.Random(seed)
    text = "".join(rng.choice("ab \n") for _ in range(200))

    def span():
        start = rng.randrange(190)
        return rng.choice(["x", "y"]), start, start + rng.randint(1, 40)

    questions = {}
    for id_, line in stored.questions.items():
        passages = []
        for number in range(rng.randint(1, 4)):
            doc, start, end = span()
            if text[start:end].strip():
                place = Span(doc, start, min(end, 200))
                passages.append(Passage(place, text[start:end], f"g{number % 2}"))
        questions[id_] = replace(line, passages=passages)
    texts = {}

    def change(record):
        spans = [span() for _ in range(rng.randint(0, 8))]
        spans += spans[:1]
        texts.update({(doc, start, end): text[start:end] for doc, start, end in spans})
        hits = [StoredHit(doc=d, start=s, end=e, score=-at) for at, (d, s, e) in enumerate(spans)]
        grades = [rng.choice([None, 0, 1, 2]) for _ in hits]
        found = [grade for grade in grades if grade]
        judged = Judged(tuple(grades), tuple(sorted([*found, 2, 1, 1], reverse=True)), 3)
        return replace(record, hits=tuple(hits), judged={"evidence": judged}, context=None)

    records = tuple(map(change, stored.records))
    return replace(stored, records=records, questions=questions, texts=texts)


def test_passage_recall_and_evidence_precision_are_the_librarys_at_each_k(many):
    agree(many, BY_PASSAGE)


@pytest.mark.parametrize("seed", range(4))
def test_they_are_so_for_any_ranking_and_any_passages(many, seed):
    agree(tangled(many, seed), BY_PASSAGE)


@pytest.mark.parametrize("seed", range(2))
def test_recall_and_precision_are_the_librarys_within_one_chunker(one, seed):
    agree(tangled(one, seed), BY_CHUNK)


def test_a_higher_level_of_relevance_counts_less_as_relevant(one):
    resolved = {**one.run.config["resolved"], "relevance_level": 2}
    config = {**one.run.config, "resolved": resolved}

    agree(tangled(replace(one, run=replace(one.run, config=config)), 3), BY_CHUNK)


def test_documents_are_compared_across_chunkers(tmp_path):
    agree(run(tmp_path, labels="documents"), BY_CHUNK)


def test_of_keywords_only_the_hit_rate_is_compared_across_chunkers(tmp_path):
    agree(run(tmp_path, labels="keywords", metrics=["hit_rate@2", "token_f1"]), ("hit_rate",))


def test_a_failed_retrieval_counts_0_and_what_carries_no_label_does_not_count(many):
    error = Failure(stage="retrieval", reason="gone")
    failed = with_records(many, lambda record: replace(record, error=error))

    recall, precision = CurveReader(failed, [1, 5]).curves(failed.run.cells[0])

    assert recall.means == precision.means == (0.0, 0.0)
    assert recall.n == 4  # of five questions one has no answer
    agree(failed, BY_PASSAGE)
