"""Scores are kept by what a metric is shown, so no metric may read more, and no key say less."""

from dataclasses import fields, replace
from types import SimpleNamespace

import pytest

from harness.metrics import metrics, named_metrics
from harness.metrics.needs import ScoringContext
from harness.records import Answer, Case, Chunk, Failure, Hit, Judged, Passage, Question, Span
from harness.runs import scoring
from tests.metrics.test_every_metric import EMPTY, EVERY, IMPERFECT, NO_GOLD, PERFECT

UNANSWERABLE = [
    Case(Question("u", "Who?", answerable=False), answer=answer)
    for answer in (None, Answer("", declined=True), Answer("He did.", tokens_in=3))
]
CASES = [
    replace(
        each, question=replace(each.question, id=f"q{number}", text=f"Is {number} air? He did.")
    )
    for number, each in enumerate(
        [*PERFECT.values(), *IMPERFECT, EMPTY, NO_GOLD, *UNANSWERABLE, replace(EMPTY, answer=None)]
    )
]
ANSWER_ALONE = {"answer", "references"}
NARROW = [
    each for each in EVERY if (needs := metrics.build(each.id).needs) and needs <= ANSWER_ALONE
]


def asked(spec):
    """Return the metric, and the cases that it is asked about at all."""
    metric = metrics.build(spec)
    unanswerable = getattr(metric, "unanswerable", False)
    return metric, [case for case in CASES if case.question.answerable or unanswerable]


def directly(metric, cases):
    """Return what the metric itself says of each case as it is given."""
    if hasattr(metric, "score_all"):
        return metric.score_all(cases, ScoringContext())
    return [metric.score(case) for case in cases]


@pytest.mark.parametrize("spec", NARROW)
class TestEveryMetricOfAnswersAlone:
    def test_scores_the_whole_case_as_what_it_is_shown_of_it(self, spec):
        metric, cases = asked(spec)
        shown = scoring.score_all([named_metrics.build_metric(spec)], cases)

        assert [row[spec] for row in shown] == directly(metric, cases)

    def test_reads_nothing_but_the_answer_its_references_and_whether_there_is_one(self, spec):
        """What else it reads is not there: the score that is kept could not depend on it."""
        metric, cases = asked(spec)
        bare = [
            SimpleNamespace(
                question=SimpleNamespace(
                    answers=case.question.answers, answerable=case.question.answerable
                ),
                answer=case.answer
                and SimpleNamespace(text=case.answer.text, declined=case.answer.declined),
            )
            for case in cases
        ]

        assert directly(metric, bare) == directly(metric, cases)


def test_the_metrics_of_answers_alone_are_these():
    names = {metrics.build(each.id).name for each in NARROW}

    assert names >= {"abstention", "bleu", "token_f1", "exact_match", "rougeL", "bertscore_f1"}
    assert not names & {"context_overlap", "recall", "passage_recall", "keyword_mrr", "composite"}


class Keys:
    """Keeps nothing, and notes the keys that it was given."""

    def __init__(self):
        self.found = []

    def get_or_score(self, metric, cases, keys, score):
        self.found.extend(keys)
        return score(cases)


def keys(spec, cases):
    keeper = Keys()
    scoring.score_all(
        [named_metrics.build_metric(spec, "documents")], cases, "documents", keeper=keeper
    )
    return keeper.found


QUESTION = Question(
    "q",
    "How far?",
    answers=("far", "away"),
    passages=(Passage(Span("moon", 0, 3), "far", "one"),),
    documents={"moon": 1},
    keywords=("far",),
)
HIT = Hit(Chunk(0, Span("moon", 0, 3), "far"), 0.5)
JUDGED = Judged((1,), (1,))
WHOLE = Case(
    QUESTION,
    (HIT,),
    {"documents": JUDGED},
    "far",
    Answer("far"),
    None,
    (JUDGED,),
    (Span("moon", 0, 3),),
)
ANSWERS = [
    replace(WHOLE, answer=Answer("far away")),
    replace(WHOLE, answer=Answer("far", declined=True)),
    replace(WHOLE, question=replace(QUESTION, answers=("far",))),
    replace(WHOLE, question=replace(QUESTION, answers=("away", "far"))),
    replace(WHOLE, question=replace(QUESTION, answers=("far', 'away",))),
]
OTHERS = [
    replace(WHOLE, answer=replace(WHOLE.answer, tokens_in=1)),
    replace(WHOLE, answer=replace(WHOLE.answer, model="m")),
    replace(WHOLE, question=replace(QUESTION, id="r")),
    replace(WHOLE, question=replace(QUESTION, text="How hot?")),
    replace(WHOLE, question=replace(QUESTION, documents={"moon": 2})),
    replace(WHOLE, question=replace(QUESTION, documents={"mars": 1})),
    replace(WHOLE, question=replace(QUESTION, documents=None)),
    replace(WHOLE, question=replace(QUESTION, keywords=("away",))),
    replace(WHOLE, question=replace(QUESTION, category="c")),
    replace(WHOLE, question=replace(QUESTION, difficulty="c")),
    replace(WHOLE, question=replace(QUESTION, passages=(replace(QUESTION.passages[0], grade=2),))),
    replace(WHOLE, hits=()),
    replace(WHOLE, hits=(HIT, HIT)),
    replace(WHOLE, hits=(replace(HIT, score=0.5000000000000001),)),
    replace(WHOLE, hits=(replace(HIT, chunk=replace(HIT.chunk, text="fat")),)),
    replace(WHOLE, hits=(replace(HIT, chunk=replace(HIT.chunk, span=Span("moon", 0, 4))),)),
    replace(WHOLE, judged={"documents": replace(JUDGED, grades=(0,))}),
    replace(WHOLE, judged={"documents": replace(JUDGED, grades=(None,))}),
    replace(WHOLE, judged={"documents": replace(JUDGED, inventory=(1, 1))}),
    replace(WHOLE, judged={"documents": replace(JUDGED, inventory=None)}),
    replace(WHOLE, judged={"documents": replace(JUDGED, irrelevant=1)}),
    replace(WHOLE, judged={"documents": JUDGED, "keywords": JUDGED}),
    replace(WHOLE, context="far "),
    replace(WHOLE, context=None),
    replace(WHOLE, keywords=()),
    replace(WHOLE, touching=()),
    replace(WHOLE, touching=None),
    replace(WHOLE, answers=False),
]

BROKEN = replace(WHOLE, failure=Failure("generation", "429"))
UNRANKED = replace(WHOLE, ranked=False)


@pytest.mark.parametrize("spec", ["recall@5", "keyword_mrr@5", "context_overlap"])
def test_what_reads_more_than_answers_is_scored_anew(spec):
    assert keys(spec, [WHOLE, *ANSWERS, *OTHERS]) == []


def test_cases_with_the_same_answer_and_references_have_the_same_key_for_metrics_of_those():
    others = [*OTHERS, UNRANKED]
    assert len(set(keys("token_f1", [WHOLE, *ANSWERS]))) == 1 + len(ANSWERS)
    assert set(keys("token_f1", others)) == set(keys("token_f1", [WHOLE]))
    assert keys("token_f1", [BROKEN]) == []  # its score is that it failed
    varied = {
        field.name
        for field in fields(Case)
        if any(getattr(each, field.name) != getattr(WHOLE, field.name) for each in others)
    }
    assert varied == {field.name for field in fields(Case)} - {"failure"}


def test_an_answer_to_a_question_without_one_is_not_that_to_a_question_with_one():
    unanswerable = replace(WHOLE, question=replace(QUESTION, answerable=False))
    silent = replace(WHOLE, answer=None)

    assert len(set(keys("abstention", [WHOLE, unanswerable, silent]))) == 3
