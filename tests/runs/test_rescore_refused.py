"""`score RUN` with what the run cannot serve: refused with all reasons, and nothing written."""

import pytest

from harness import api
from harness.config.run_config import load
from harness.errors import DataError
from harness.runs import runner
from tests.support.small import project


def run(folder, metrics, **changes):
    """Run the small project in one cell."""
    one = {"chunkers": ["markdown"], "retrievers": ["dense"], "metrics": metrics, **changes}
    return api.run(runner.prepare(load(project(folder, **one), [], {})), lambda *_: None).folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*.*")}


def test_metrics_that_the_run_cannot_serve_are_refused_all_at_once_and_nothing_is_written(tmp_path):
    rows = [{"id": "q", "question": "What does a day pass cost?", "documents": {"fares.md": 1}}]
    folder = run(tmp_path, ["recall@5"], questions=rows, generators=["none"])
    before = contents(folder)
    names = ["ndcg@10", "bleu", "passage_recall@2", "recal@5", "recall@5", "keyword_mrr@9"]
    with pytest.raises(DataError) as caught:
        api.score(folder, names)

    assert [(each.where, each.what) for each in caught.value.problems] == [
        ("ndcg@10", "it reads 10 hits, and the run retrieved 5"),
        ("bleu", "the run has no answers"),
        ("bleu", "no question of the run has answer"),
        ("passage_recall@2", "no question of the run has evidence"),
        ("recal@5", "unknown metric 'recal'"),
        ("keyword_mrr@9", "it reads 9 hits, and the run retrieved 5"),
        ("keyword_mrr@9", "no question of the run has keywords"),
    ]
    assert contents(folder) == before


def test_a_kind_of_label_that_the_run_did_not_judge_by_is_refused(tmp_path):
    folder = run(tmp_path, ["passage_recall@2"], chunkers=["markdown"])
    with pytest.raises(DataError) as caught:
        api.score(folder, ["hit_rate(labels=answer)@2"])

    (problem,) = caught.value.problems
    assert problem.what == "the run's rankings were not judged by answer"
