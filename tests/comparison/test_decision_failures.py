"""Cells that fail: what both finished is compared, METRICS.md section 4, and failing by itself."""

import numpy as np
import pytest

from harness.comparison.cell_differences import CellDifferences
from harness.comparison.decision import decide
from harness.report.run_view import View
from tests.support.runs_made import stored

N = 100
SCORES = np.random.default_rng(0).uniform(0.3, 0.6, N).round(3)
NOISE = 0.001 * np.resize([1.0, -1.0, -1.0, 1.0], N)


def failing(every, shift=0.0):
    """Scores about `shift` above the others', of which one in `every` failed."""
    made = SCORES + shift + NOISE
    return [None if at % every == 0 else float(each) for at, each in enumerate(made)]


def run(scores, **rest):
    return stored({name: {"ndcg": list(each)} for name, each in scores.items()}, **rest)


def decided(scores, **rest):
    return decide(CellDifferences(run(scores, **rest)))


def verdict(scores, **rest):
    found = View(run(scores, **rest)).verdict
    return found.headline, found.text.replace("\u00a0", " "), found.ship


SOLID_AND_FLAKY = {"solid": SCORES.tolist(), "flaky": failing(2)}
COSTS = {"solid": 500, "flaky": 400}


class TestACellThatFailsHalf:
    def test_is_beaten_by_one_that_scores_the_same_where_both_finish_and_finishes_more(self):
        found = decided(SOLID_AND_FLAKY, tokens=COSTS)

        assert found.failed == {"solid": (0, 100), "flaky": (50, 100)}
        assert not found.others["flaky"].better
        finished = found.finished["flaky"]
        assert (finished.difference, finished.n, finished.test) == (0.5, 100, "mcnemar")
        assert finished.p == pytest.approx(2 * 0.5**50)
        assert (found.form, found.beaten, found.not_worse) == ("beats others", ("flaky",), ())
        assert found.beaten_by_failures == ("flaky",)

    def test_is_neither_recommended_for_its_cost_nor_named_in_the_headline(self):
        assert decided(SOLID_AND_FLAKY, tokens=COSTS).cheaper is None
        headline, said, ship = verdict(SOLID_AND_FLAKY, tokens=COSTS)
        assert (headline, ship) == ("Ship solid.", "solid")
        assert "the other (by failing fewer questions alone)." in said
        assert (
            "Failures. solid failed none of 100 questions; flaky 50 of 100 (50 %), shown to be "
            "more, p < 0.001."
        ) in said

    def test_and_scores_higher_where_it_finishes_is_said_to_and_no_difference_is_denied(self):
        scores = {"solid": SCORES.tolist(), "flaky": failing(2, 0.2)}
        found = decided(scores, tokens=COSTS)
        assert (found.form, found.best, found.ahead) == ("contested", "solid", ("flaky",))
        assert (found.beaten, found.not_worse, found.cheaper) == ((), (), None)

        headline, said, ship = verdict(scores, tokens=COSTS)
        assert headline == (
            "solid has the highest mean, but flaky is shown to score higher on the questions "
            "scored in both."
        )
        assert ship == "solid"
        assert (
            "the higher mean, but on the 50 questions scored in both it is 0.20 below the next "
            "best flaky (95 % interval −0.20 to −0.20, p < 0.001, n = 50)."
        ) in said
        assert "flaky 50 of 100 (50 %), shown to be more, p < 0.001." in said

    def test_but_has_the_highest_mean_is_not_shipped_without_a_word(self):
        scores = {"solid": SCORES.tolist(), "flaky": failing(5, 0.4)}
        found = decided(scores, baseline="solid")
        assert (found.form, found.best, found.ahead) == ("contested", "flaky", ("solid",))
        headline, said, _ = verdict(scores, baseline="solid")
        assert headline == "flaky has the highest mean, but fails more questions than solid."
        assert "It is shown to score higher than solid, but also to fail more questions." in said
        assert "not shown to be better" not in said
        assert (
            "flaky failed 20 of 100 questions (20 %); solid none of 100, shown to be fewer"
        ) in said


class TestFewFailures:
    def few(self, failed, **rest):
        other = [None if at in failed else each for at, each in enumerate(SCORES + NOISE)]
        rest.setdefault("tokens", {"solid": 500, "few": 400})
        return {"solid": SCORES.tolist(), "few": other}, rest

    def test_that_are_more_by_over_the_margin_warrant_no_recommendation(self):
        scores, rest = self.few({3, 5, 77})
        found = decided(scores, **rest)
        assert (found.form, found.not_worse) == ("none shown", ("few",))
        assert not found.finished["few"].better
        assert found.cheaper.failing == pytest.approx(0.03)
        assert (found.cheaper.warranted, found.cheaper.questions) == (False, None)
        headline, said, _ = verdict(scores, **rest)
        assert headline == "No difference could be shown."
        assert "few 3 of 100 (3 %), not shown to be more, p = 0.25." in said
        assert said.endswith(
            "few takes 400 tokens a question in place of 500 tokens, but failed more questions "
            "than solid."
        )

    def test_within_the_margin_are_stated_beside_the_recommendation(self):
        scores, rest = self.few({3, 5})
        headline, said, _ = verdict(scores, **rest)
        assert headline == "No difference could be shown. Take the cheaper, few."
        assert "solid failed none of 100 questions; few 2 of 100 (2 %), not shown" in said


def test_a_baseline_that_failed_on_every_question_is_beaten_for_that():
    scores = {"a": SCORES[:30].tolist(), "b": [None] * 30}
    headline, said, _ = verdict(scores, baseline="b")
    assert headline == "Ship a."
    assert "cannot be said: no question was scored on both sides." in said
    assert "a failed none of 30 questions; b 30 of 30 (100 %), shown to be more, p < 0.001." in said
    assert "this few questions" not in said


def test_a_floor_that_never_fails_has_nothing_over_a_cell_that_scores_higher():
    found = decided({"floor": (SCORES - 0.3).tolist(), "best": failing(10)}, floors=["floor"])
    assert found.finished["floor"].worse
    assert (found.form, found.beaten, found.ahead) == ("beats others", ("floor",), ())
