"""The harness's own metrics of answers, METRICS.md section 2, and the composite of several."""

import pytest

from harness.errors import SpecError
from harness.metrics import metrics, named_metrics
from harness.records import Answer, Case, Failure, Question, Score, not_scored
from harness.runs import scoring


def case(said, references=(), context=None, **question):
    """Return a case; `said` of None is a run without a generator."""
    answer = None if said is None else Answer(said)
    return Case(Question("q", "?", answers=tuple(references), **question), (), {}, context, answer)


def score(name, *about, **more):
    return scoring.score_all([named_metrics.build_metric(name)], [case(*about, **more)])[0][name]


@pytest.mark.parametrize(
    ("said", "references", "f1", "exact"),
    [
        pytest.param("384,400 km", ["384,400 km"], 1, 1, id="the same"),
        pytest.param("The 384,400 km, on average.", ["384,400 km"], 2 / 3, 0, id="the moon"),
        pytest.param("a moon", ["The Moon!"], 1, 1, id="articles, case and marks do not count"),
        pytest.param("the", ["a"], 1, 1, id="articles alone"),
        pytest.param("the", ["moon"], 0, 0, id="an article against a word"),
        pytest.param("moon", ["an"], 0, 0, id="a word against an article"),
        pytest.param("theory of a", ["theory of"], 1, 1, id="an article is a word of its own"),
        pytest.param("U.S.A.", ["USA"], 1, 1, id="stops inside a word"),
        pytest.param("mars moon", ["moon mars"], 1, 0, id="the order"),
        pytest.param("far far", ["far away"], 0.5, 0, id="a word said twice counts once"),
        pytest.param("far far", ["far far away"], 0.8, 0, id="and twice where it is wanted twice"),
        pytest.param("two", ["one two three", "two three"], 2 / 3, 0, id="the best reference"),
        pytest.param("two", ["", "two"], 1, 1, id="an empty reference is none"),
        pytest.param("sun", ["moon"], 0, 0, id="nothing shared"),
        pytest.param("Луна", ["луна."], 1, 1, id="another script"),
        pytest.param(" \n", ["moon"], 0, 0, id="an empty answer"),
        pytest.param("", ["the"], 0, 0, id="an empty answer against articles alone"),
    ],
)
def test_token_f1_and_exact_match_compare_as_squad_does(said, references, f1, exact):
    assert score("token_f1", said, references).value == pytest.approx(f1, abs=1e-12)
    assert score("exact_match", said, references).value == exact


@pytest.mark.parametrize(
    ("said", "references", "words", "whitespace"),
    [
        ("one two three", ["one two three"], 1, 1),
        ("one two", ["a b c d"], 0.5, 0.5),
        ("a b c d", ["one two"], 0.5, 0.5),
        ("one, two.", ["one two"], 0.5, 1),  # 4 words and marks, or 2 pieces
        ("one two", ["a", "a b c"], 1, 1),  # against the mean length, 2
        ("one", ["a b", "a b c"], 0.4, 0.4),
        ("one", ["a b", ""], 0.5, 0.5),  # an empty reference is none
        ("", ["a"], 0, 0),
    ],
)
def test_length_ratio_is_the_shorter_over_the_longer(said, references, words, whitespace):
    assert score("length_ratio", said, references).value == pytest.approx(words, abs=1e-12)
    by_space = score("length_ratio(tokens=whitespace)", said, references).value
    assert by_space == pytest.approx(whitespace, abs=1e-12)


@pytest.mark.parametrize(
    ("said", "context", "words", "whitespace"),
    [
        ("The Moon is far.", "the moon is very far.", 1, 1),
        ("Moon, far", "moon far", 2 / 3, 0.5),
        ("far far near", "far", 2 / 3, 2 / 3),  # tokens of the answer, each time it says them
        ("sun", "moon", 0, 0),
        ("", "moon", 0, 0),
    ],
)
def test_context_overlap_is_the_share_of_the_answer_found_in_the_context(
    said, context, words, whitespace
):
    assert score("context_overlap", said, (), context).value == pytest.approx(words, abs=1e-12)
    by_space = score("context_overlap(tokens=whitespace)", said, (), context).value
    assert by_space == pytest.approx(whitespace, abs=1e-12)


@pytest.mark.parametrize("context", ["", None])
def test_without_a_context_there_is_no_overlap_to_score(context):
    assert score("context_overlap", "far", (), context) == not_scored("no context was sent")


@pytest.mark.parametrize(
    ("answerable", "declined", "expected"),
    [(True, False, 1.0), (True, True, 0.0), (False, True, 1.0), (False, False, 0.0)],
)
def test_abstention_is_1_when_declined_is_unanswerable(answerable, declined, expected):
    question = Question("q", "?", answerable=answerable)
    said = Case(question, answer=Answer("I cannot say", declined=declined))

    assert metrics.build("abstention").score(said).value == expected


REFERENCED = ["bleu", "rouge1", "rouge2", "rougeL", "rougeLsum", "token_f1", "exact_match"]


@pytest.mark.parametrize("name", [*REFERENCED, "length_ratio"])
def test_without_an_answer_or_a_reference_nothing_is_compared(name):
    assert score(name, None, ["far"]) == not_scored("nothing was answered")
    for none in ([], [""], [" \n"]):
        assert score(name, "far", none) == not_scored("the question has no reference answer")
    assert score(name, " \n", ["far"]) == Score(0.0, "the answer is empty")


class TestComposite:
    def test_is_the_weighted_sum_of_its_parts(self):
        # token_f1 of "far away" against "far" is 2/3, length_ratio 1/2, exact_match 0.
        weights = "0.5*token_f1+0.3*length_ratio + 0.2 * exact_match"
        found = score(f"composite(weights={weights})", "far away", ["far"])
        assert found.value == pytest.approx(0.5 * 2 / 3 + 0.3 * 0.5, abs=1e-12)
        assert found.reason == weights

    def test_takes_its_weights_from_a_mapping_too(self):
        weights = {"exact_match": 0.25, "token_f1": 0.75}
        assert metrics.build({"composite": {"weights": weights}}).parts == tuple(weights)

    @pytest.mark.parametrize(
        ("weights", "parts"),
        [
            ("1*bleu", ("bleu",)),
            ("0*bleu + 1.0*rouge1", ("bleu", "rouge1")),
            ("5e-1*bleu + .5*rouge1", ("bleu", "rouge1")),
            (
                "0.5*bleu(tokens=whitespace, smoothing=2) + 0.5*recall(rel=2)@5",
                ("bleu(tokens=whitespace, smoothing=2)", "recall(rel=2)@5"),
            ),
            (
                "0.1*bleu+0.2*rouge1+0.3*rouge2+0.2*rougeL+0.2*token_f1",
                ("bleu", "rouge1", "rouge2", "rougeL", "token_f1"),
            ),
        ],
    )
    def test_reads_weights_of_metrics_with_options(self, weights, parts):
        assert metrics.build(f"composite(weights={weights})").parts == parts

    @pytest.mark.parametrize(
        ("weights", "what"),
        [
            ("0.5*bleu + 0.4*rouge1", "weights: they sum to 0.9, and must sum to 1"),
            ("0.5*bleu + 0.50000001*rouge1", "weights: they sum to 1.00000001, and must sum to 1"),
            ("-0.5*bleu + 1.5*rouge1", "weights: each must be 0 or more"),
            ("1*composite", "weights: a composite cannot be part of itself"),
            ("0.5*bleu + 0.5*bleu", "weights: 'bleu' is there twice"),
            ("bleu", "weights: 'bleu' is not of the form 0.5*bleu"),
            ("", "weights: '' is not of the form 0.5*bleu"),
            ("1.2.3*bleu", "weights: '1.2.3' is not a number"),
            ({"bleu": "half", "rouge1": 0.5}, "weights: 'half*bleu' is not of the form 0.5*bleu"),
            ({"bleu": float("nan")}, "weights: 'nan*bleu' is not of the form 0.5*bleu"),
            (["bleu"], "weights: Input should be a valid string, not ['bleu']"),
        ],
    )
    def test_refuses_weights_that_mean_nothing(self, weights, what):
        with pytest.raises(SpecError) as caught:
            metrics.build({"composite": {"weights": weights}})
        assert caught.value.what == f"metric 'composite': {what}"

    def test_is_null_with_the_part_s_name_when_a_part_is(self):
        assert score("composite", "far", (), "far") == not_scored(
            "bleu: the question has no reference answer"
        )
        assert score("composite", "far", ["far"]) == not_scored(
            "context_overlap: no context was sent"
        )

    def test_fails_where_a_part_failed(self):
        question = Question("q", "?", answers=("far",))
        failed = Case(question, context="far", failure=Failure("generation", "429"))
        row = scoring.score_all([named_metrics.build_metric("composite")], [failed])[0]
        assert row["composite"] == Score(None, "bleu: generation: 429", "failed")

    def test_judges_its_parts_by_the_run_s_labels_and_level(self):
        built = named_metrics.build_metric("composite(weights=1*recall@5)", "keywords", 2)
        question = Question("q", "?", documents={"a": 2})
        row = scoring.score_all([built], [Case(question)], "keywords", 2)[0]
        reason = "recall@5: the question has no keywords label"
        assert row[built.name] == not_scored(reason)
