"""What becomes of a metric on a question, and what a mean makes of it: METRICS.md, section 1."""

import pytest

from harness.metrics import named_metrics
from harness.records import (
    Answer,
    Case,
    Chunk,
    Failure,
    Hit,
    Judged,
    Passage,
    Question,
    Score,
    Span,
    not_scored,
)
from harness.runs import scoring
from harness.stats.aggregate_scores import aggregate

SPAN = Span("moon", 0, 28)
TEXT = "The moon is 384,400 km away."
QUESTION = Question(
    "q",
    "How far is the moon?",
    answers=("384,400 km",),
    passages=(Passage(SPAN, TEXT, "#1"),),
    documents={"moon": 1},
    keywords=("384,400 km",),
)
HITS = (Hit(Chunk(0, SPAN, TEXT), 1.0),)
JUDGED = {"documents": Judged((1,), (1,)), "keywords": Judged((1,), (1,))}
SAID = Answer("384,400 km")
RIGHT = Case(QUESTION, HITS, JUDGED, TEXT, SAID)

RANKING = ["hit_rate@1", "precision@1", "recall@1", "f1@1", "mrr", "ap", "ndcg"]
SPANS = ["evidence_recall@1", "evidence_precision@100t", "evidence_iou@1", "passage_recall@1"]
REFERENCES = ["bleu", "rouge1", "rouge2", "rougeL", "token_f1", "exact_match", "length_ratio"]
ANSWER = [*REFERENCES, "context_overlap", "abstention", "composite"]
EVERY = [*RANKING, *SPANS, *ANSWER]


def scores(case, names=EVERY, labels="documents", level=1):
    named = [named_metrics.build_metric(name, labels, level) for name in names]
    return scoring.score_all(named, [case], labels, level)[0]


def states(case, names=EVERY):
    return {name: score.state for name, score in scores(case, names).items()}


def test_a_right_case_is_scored_1_by_every_metric_in_the_order_asked_for():
    found = scores(RIGHT)

    assert list(found) == EVERY
    assert {name: score.value for name, score in found.items()} == pytest.approx(
        dict.fromkeys(EVERY, 1.0)
    )


def test_a_failed_retrieval_fails_everything_that_comes_after_it():
    found = scores(Case(QUESTION, judged=JUDGED, failure=Failure("retrieval", "no route to host")))

    for name in set(EVERY) - {"composite"}:
        assert found[name] == Score(None, "retrieval: no route to host", "failed"), name
    assert found["composite"] == Score(None, "bleu: retrieval: no route to host", "failed")


def test_a_failed_generation_leaves_the_metrics_of_retrieval_scored():
    failed = Case(QUESTION, HITS, JUDGED, TEXT, failure=Failure("generation", "429"))
    found = scores(failed)

    assert [found[name].value for name in (*RANKING, *SPANS)] == [1.0] * 11
    for name in set(ANSWER) - {"composite"}:
        assert found[name] == Score(None, "generation: 429", "failed"), name
    assert found["composite"] == Score(None, "bleu: generation: 429", "failed")


@pytest.mark.parametrize("stage", ["retrieval", "generation"])
def test_a_question_that_lacks_the_label_has_not_failed_at_it(stage):
    unlabelled = Case(Question("q", "?"), context=TEXT, failure=Failure(stage, "gone"))
    wanted = dict.fromkeys([*RANKING, *SPANS, *REFERENCES, "composite"], "not_scored")

    # These two need no label, so their question has failed.
    assert states(unlabelled) == {**wanted, "context_overlap": "failed", "abstention": "failed"}


def test_an_unanswerable_question_is_scored_by_abstention_alone():
    question = Question("q", "?", documents={"moon": 1}, keywords=("air",), answerable=False)
    declined = scores(Case(question, HITS, JUDGED, TEXT, Answer("", declined=True)))
    answered = scores(Case(question, HITS, JUDGED, TEXT, SAID))

    assert declined.pop("abstention").value == 1.0
    assert answered.pop("abstention").value == 0.0
    reason = not_scored("the question is unanswerable")
    assert set(declined.values()) == set(answered.values()) == {reason}


def test_an_error_on_an_unanswerable_question_is_not_a_decline():
    question = Question("q", "?", answerable=False)
    found = scores(Case(question, HITS, {}, TEXT, failure=Failure("generation", "429")))

    assert found["abstention"] == Score(None, "generation: 429", "failed")
    assert found["recall@1"].state == found["bleu"].state == "not_scored"


def test_without_a_generator_metrics_of_answers_are_not_scored():
    found = scores(Case(QUESTION, HITS, JUDGED, TEXT))

    assert [found[name].value for name in (*RANKING, *SPANS)] == [1.0] * 11
    assert {found[name] for name in ANSWER[:-1]} == {not_scored("nothing was answered")}
    assert found["composite"] == not_scored("bleu: nothing was answered")


def test_metrics_take_the_run_s_labels_and_level_where_they_name_none():
    judged = {"documents": Judged((1, 2), (2, 1)), "keywords": Judged((0, 1), (1, 1, 1))}
    case = Case(QUESTION, judged=judged)
    names = ["recall@2", "recall(labels=keywords)@2", "recall(rel=1)@2", "mrr"]

    by = {labels: scores(case, names, labels) for labels in ("documents", "keywords")}
    assert [each.value for each in by["documents"].values()] == [1.0, 1 / 3, 1.0, 1.0]
    assert [each.value for each in by["keywords"].values()] == [1 / 3, 1 / 3, 1 / 3, 0.5]
    strict = scores(case, names, "documents", level=2)
    assert [each.value for each in strict.values()] == [1.0, 0.0, 1.0, 0.5]


def test_a_batch_keeps_its_order_when_some_of_it_cannot_be_scored():
    wrong = Case(QUESTION, HITS, JUDGED, TEXT, Answer("far"))
    failed = Case(QUESTION, failure=Failure("retrieval", "gone"))
    rows = scoring.score_all(
        [named_metrics.build_metric("exact_match")], [failed, RIGHT, failed, wrong, RIGHT]
    )

    assert [row["exact_match"].value for row in rows] == [None, 1.0, None, 0.0, 1.0]


FAILED = Score(None, "generation: 429", "failed")
LEFT_OUT = not_scored("the question is unanswerable")
UNJUDGED = Score(None, "the judge gave up", "metric_failed")


def test_a_mean_counts_the_failed_as_0_and_leaves_the_not_scored_out():
    line = aggregate([Score(1.0), Score(0.5), FAILED, LEFT_OUT, LEFT_OUT, UNJUDGED])

    assert line.mean == pytest.approx(1.5 / 3)
    assert line.mean_finished == pytest.approx(1.5 / 2)
    assert (line.n, line.failed, line.not_scored, line.metric_failed) == (3, 1, 2, 1)


def test_a_mean_of_nothing_is_none_and_of_failures_alone_is_0():
    nothing, failed = aggregate([LEFT_OUT, UNJUDGED]), aggregate([FAILED, FAILED])

    assert (nothing.mean, nothing.mean_finished, nothing.n) == (None, None, 0)
    assert (failed.mean, failed.mean_finished, failed.n) == (0.0, None, 2)


def test_an_interval_is_of_the_mean_that_counts_the_failed():
    line = aggregate([Score(1.0)] * 8 + [FAILED] * 2)

    # Wilson's interval of 8 in 10.
    assert (line.method, line.mean) == ("wilson", 0.8)
    assert (line.low, line.high) == pytest.approx((0.490162, 0.943318), abs=5e-7)
