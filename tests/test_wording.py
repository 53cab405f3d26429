"""The verdict in words, for each form that a decision can have."""

import pytest

from harness import numbers
from harness.decision import Cheaper, Decision
from harness.differences import Difference
from harness.report.wording import Words

BEST, BASE, THIRD = "markdown × dense", "fixed × bm25", "fixed × dense"
SHOWN = Difference(
    n=156, unpaired=0, family=90, reason="", difference=0.242, low=0.166, high=0.319,
    p=0.0001, corrected=0.0082, visible=0.175, questions=82,
)  # fmt: skip
HIDDEN = Difference(
    n=156, unpaired=0, family=3, reason="", difference=0.026, low=-0.02, high=0.076,
    p=0.3, corrected=0.6, visible=0.147, questions=2000,
)  # fmt: skip


def decision(form, **changes):
    settings = {
        "form": form, "metric": "recall@5", "best": BEST, "baseline": BASE, "from_baseline": SHOWN,
        "others": {THIRD: HIDDEN, BASE: SHOWN}, "beaten": (BASE,), "not_worse": (THIRD,),
        "against": BASE, "seen": SHOWN, "family": 3, "margin": 0.02, "cost": None, "costs": {},
        "cheaper": None,
    }  # fmt: skip
    return Decision(**{**settings, **changes})


def verdict(form, **changes):
    made = Words(decision(form, **changes), str, lambda cell: "0.52", 2).verdict()
    return made.headline, [" ".join(each).strip().replace("\u00a0", " ") for each in made.sentences]


def cheaper(warranted, **changes):
    found = {"cell": THIRD, "cost": 0.2, "best_cost": 0.9, "difference": HIDDEN.turned}
    return Cheaper(**{**found, "warranted": warranted, "questions": 2000, **changes})


def test_the_best_that_beats_the_baseline_is_shipped_with_size_interval_p_and_n():
    headline, said = verdict("beats baseline")

    assert headline == "Ship markdown × dense."
    assert said == [
        "It reaches recall@5 0.52, 0.24 above the baseline fixed × bm25 "
        "(95 % interval +0.17 to +0.32, p = 0.008, n = 156).",
        "How sure. It is shown to be better than 1 of the 2 others. Not shown to be worse than it: "
        "fixed × dense. With n = 156, a difference under 0.15 mostly stays hidden: "
        "not shown is not equal.",
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
    assert headline == "markdown × dense scores highest, but is not shown to beat the baseline."
    assert verdict("beats others", baseline=None)[0] == "Ship markdown × dense."


def test_without_any_difference_the_cheapest_is_taken_only_where_that_is_warranted():
    taken, said = verdict("none shown", cheaper=cheaper(True), cost="seconds", beaten=())
    assert taken == "No difference could be shown. Take the cheapest, fixed × dense."
    assert said[-1] == (
        "If cost decides. fixed × dense takes 200 ms a question in place of 900 ms, and is less "
        "than 0.02 worse (95 % interval of the difference −0.08 to +0.02)."
    )

    untold, said = verdict("none shown", cheaper=cheaper(False), cost="seconds", beaten=())
    assert untold == "No difference could be shown."
    assert said[-1] == (
        "If cost decides. Whether fixed × dense (200 ms a question in place of 900 ms) is less "
        "than 0.02 worse cannot be told at n = 156; about 2,000 questions would."
    )


def test_a_single_cell_has_nothing_to_be_compared_with():
    headline, said = verdict("nothing to compare", others={}, seen=None, against=None)
    assert headline == "There is nothing to compare markdown × dense with."
    assert said == ["It reaches recall@5 0.52."]


def test_floors_alone_are_nothing_to_ship():
    made = Words(decision("nothing to compare", best=None), str, str, 2).verdict()
    assert made.headline == "There is nothing to ship."
    assert made.ship is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0004, "< 0.001"), (0.001, "0.001"), (0.0082, "0.008"), (0.099, "0.1"), (0.6, "0.60"),
     (1.0, "1.00"), (None, "–")],
)  # fmt: skip
def test_a_probability_has_one_or_two_digits(value, shown):
    assert numbers.probability(value) == shown


def test_a_difference_has_its_sign_and_none_where_it_rounds_to_zero():
    assert numbers.difference(0.126) == "+0.13"
    assert numbers.difference(-0.126) == "−0.13"
    assert numbers.difference(-0.001) == "0.00"
    assert numbers.between(-0.02, 0.08) == "−0.02 to +0.08"
