"""The verdict in words, for each form that a decision can have."""

import numpy as np

from harness.comparison.decision import Cheaper, Decision, EqualText
from harness.report.run_view import View
from harness.report.verdict_words import VerdictWords
from harness.stats.difference_estimate import DifferenceEstimate
from tests.support.runs_made import stored

BEST, BASE, THIRD = "markdown × dense", "fixed × bm25", "fixed × dense"
SHOWN = DifferenceEstimate(
    n=156, unpaired=0, family=90, reason="", difference=0.242, low=0.166, high=0.319,
    p=0.0001, corrected=0.0082, visible=0.175, questions=82,
)  # fmt: skip
HIDDEN = DifferenceEstimate(
    n=156, unpaired=0, family=3, reason="", difference=0.026, low=-0.02, high=0.076,
    p=0.3, corrected=0.6, visible=0.147, questions=2000,
)  # fmt: skip

FINISHED = DifferenceEstimate(
    n=156, unpaired=0, family=3, reason="the scores are identical", difference=0.0, p=1.0,
    corrected=1.0, error=0.0,
)  # fmt: skip


def decision(form, **changes):
    settings = {
        "form": form, "metric": "recall@5", "means": {BEST: 0.52, THIRD: 0.49, BASE: 0.28},
        "best": BEST, "baseline": BASE,
        "others": {THIRD: HIDDEN, BASE: SHOWN},
        "finished": {THIRD: FINISHED, BASE: FINISHED},
        "failed": dict.fromkeys((BEST, THIRD, BASE), (0, 156)), "beaten": (BASE,),
        "not_worse": (THIRD,), "ahead": (), "against": BASE, "seen": SHOWN,
        "margin": 0.02, "cost": None, "cheaper": None,
    }  # fmt: skip
    return Decision(**{**settings, **changes})


def verdict(form, **changes):
    made = VerdictWords(decision(form, **changes), str, lambda cell: "0.52", 2).verdict()
    return made.headline, [" ".join(each).strip().replace("\u00a0", " ") for each in made.sentences]


def cheaper(warranted, **changes):
    found = {
        "cell": THIRD,
        "cost": 0.2,
        "best_cost": 0.9,
        "difference": HIDDEN.reversed,
        "failing": 0.0,
    }
    return Cheaper(**{**found, "warranted": warranted, "questions": 2000, **changes})


def test_the_best_that_beats_the_baseline_is_shipped_with_size_interval_p_and_n():
    headline, said = verdict("beats baseline")

    assert headline == "Ship markdown × dense."
    assert said == [
        "It reaches recall@5 0.52, 0.24 above the baseline fixed × bm25 "
        "(95 % interval +0.17 to +0.32, p = 0.008, n = 156).",
        "How sure. It is shown to be better than 1 of the 2 others. Not shown to be worse than it: "
        "fixed × dense. With n = 156, a difference of 0.15 would be found four times in five, "
        "a smaller one less often: not shown is not equal.",
    ]


def test_a_baseline_that_is_the_best_is_kept():
    headline, said = verdict(
        "baseline is best", baseline=BEST, against=THIRD, seen=HIDDEN, others={THIRD: HIDDEN},
        beaten=(),
    )  # fmt: skip

    assert headline == "Keep the baseline, markdown × dense."
    assert said[0] == (
        "It reaches recall@5 0.52, 0.03 above the next best fixed × dense "
        "(95 % interval −0.02 to +0.08, p = 0.60, n = 156)."
    )
    assert said[1].startswith("How sure. It is not shown to be better than the other.")


def test_the_highest_mean_that_does_not_beat_the_baseline_is_not_shipped_in_the_headline():
    headline, _ = verdict("beats others", seen=HIDDEN)
    assert (
        headline == "markdown × dense has the highest mean, but is not shown to beat the baseline."
    )
    assert verdict("beats others", baseline=None)[0] == "Ship markdown × dense."


def test_without_any_difference_a_cheaper_one_is_taken_only_where_that_is_warranted():
    taken, said = verdict("none shown", cheaper=cheaper(True), cost="seconds", beaten=())
    assert taken == "No difference could be shown. Take the cheaper, fixed × dense."
    assert said[-1] == (
        "If cost decides. fixed × dense takes 200 ms a question in place of 900 ms, and is less "
        "than 0.02 worse (95 % interval of the difference −0.08 to +0.02)."
    )

    untold, said = verdict("none shown", cheaper=cheaper(False), cost="seconds", beaten=())
    assert untold == "No difference could be shown."
    assert said[-1] == (
        "If cost decides. Whether fixed × dense (200 ms a question in place of 900 ms) is less "
        "than 0.02 worse is open at n = 156; about 2,000 questions would."
    )


class TestOfARun:
    """The sentences that a run's scores lead to."""

    SCORES = np.random.default_rng(0).uniform(0.4, 0.8, 200).round(3)

    def said(self, scores, **rest):
        cells = {name: {"ndcg": [float(x) for x in each]} for name, each in scores.items()}
        return View(stored(cells, **rest)).verdict.text.replace("\u00a0", " ")

    def test_identical_scores_are_not_called_too_few_questions(self):
        said = self.said({"a": self.SCORES, "b": self.SCORES, "c": self.SCORES})
        assert "no interval: the scores are identical, p = 1.00, n = 200" in said
        assert "Identical to it in every score: c." in said
        assert "this few" not in said

    def test_too_few_questions_and_too_few_clusters_are(self):
        scores = {"a": self.SCORES[:5], "b": self.SCORES[5:10]}
        hidden = "no difference, however large, could be shown."
        assert f"With this few questions {hidden}" in self.said(scores)
        scores = {"a": self.SCORES[:40], "b": self.SCORES[40:80]}
        clusters = [f"c{at // 10}" for at in range(40)]
        assert f"With this few clusters of questions {hidden}" in self.said(
            scores, clusters=clusters
        )

    def test_a_size_that_rounds_to_nothing_is_not_given_as_nothing(self):
        noise = np.random.default_rng(1).normal(0, 0.0005, 200)
        said = self.said({"a": self.SCORES, "b": self.SCORES + noise - noise.mean() - 1e-6})
        assert "less than 0.01 above the next best b" in said
        assert "a difference of 0.01 would be found more than four times in five" in said

    def test_under_a_higher_floor_the_mean_is_the_highest_of_the_others(self):
        noise = np.random.default_rng(1).normal(0, 0.01, 200)
        scores = {"floor": self.SCORES + 0.1, "x": self.SCORES, "y": self.SCORES + noise - 0.005}
        said = self.said(scores, floors=["floor"])
        assert said.startswith(
            "x has the highest mean of those that are no floor, but floor, which is only a floor, "
            "is shown to score higher. x reaches ndcg 0.62, 0.10 below the floor floor ("
        )

    def test_identical_scores_stand_in_place_of_an_interval(self):
        said = self.said({"a": self.SCORES, "b": self.SCORES}, tokens={"a": 2, "b": 1})
        assert said.endswith(
            "b takes 1 token a question in place of 2 tokens, and is less than 0.02 worse "
            "(the scores are identical, n = 200)."
        )


def test_a_single_cell_has_nothing_to_be_compared_with():
    headline, said = verdict(
        "nothing to compare", others={}, seen=None, against=None, beaten=(), not_worse=()
    )
    assert headline == "There is nothing to compare markdown × dense with."
    assert said == ["It reaches recall@5 0.52."]


def test_floors_alone_are_nothing_to_ship():
    made = VerdictWords(decision("nothing to compare", best=None), str, str, 2).verdict()
    assert made.headline == "There is nothing to ship."
    assert made.ship is None


def test_the_headline_names_what_the_recommended_cell_is_worse_at():
    lower = SHOWN.reversed
    headline, said = verdict(
        "beats baseline", worse_than=BASE, worse_at={"bleu": lower, "abstention": lower}
    )
    assert headline.endswith(" It is worse than the baseline at bleu and abstention.")
    assert any(each.startswith("Worse at. Shown against the baseline: bleu −0.24") for each in said)


def test_where_the_order_turns_round_at_equal_text_the_verdict_says_so():
    turned = EqualText("recall@1000t", {THIRD: 0.61, BEST: 0.55})
    _, said = verdict("beats baseline", equal_text=turned)
    assert any("The order turns round: by recall@1000t" in each for each in said)
    same = EqualText("recall@1000t", {BEST: 0.61, THIRD: 0.55})
    _, said = verdict("beats baseline", equal_text=same)
    assert not any("turns round" in each for each in said)
