"""From a run to a decision, METRICS.md section 4: the best cell, how sure, and a cheaper one."""

import numpy as np
import pytest

from harness.comparison.cell_differences import CellDifferences
from harness.comparison.decision import decide, first_known_cost
from harness.comparison.operand import operand_from_run
from tests.support.runs_made import stored

N = 40
MIDDLE = np.random.default_rng(1).uniform(0.3, 0.6, N).round(3)
NOISE = np.random.default_rng(2).normal(0, 0.02, N).round(3)


def near(shift, noise=1.0):
    """Scores that are about `shift` above the middle, question by question."""
    return (MIDDLE + shift + noise * np.roll(NOISE, int(1000 * abs(shift)) + 1)).tolist()


def decided(scores, **rest):
    cells = {name: {"ndcg": list(each)} for name, each in scores.items()}
    return decide(CellDifferences(stored(cells, **rest)))


class TestForm:
    def test_the_best_cell_beats_the_baseline(self):
        found = decided({"low": near(-0.1), "base": near(0), "high": near(0.2)}, baseline="base")

        assert (found.form, found.best, found.against) == ("beats baseline", "high", "base")
        assert found.seen.better
        assert found.seen == found.others["base"]
        assert list(found.others) == ["base", "low"]
        assert found.beaten == ("base", "low")
        assert found.not_worse == ()

    def test_the_best_cell_is_the_baseline(self):
        found = decided({"low": near(-0.2), "base": near(0), "next": near(-0.004)}, baseline="base")
        assert (found.form, found.best) == ("baseline is best", "base")
        assert found.against == next(iter(found.others))

    def test_the_best_cell_beats_others_but_not_the_baseline(self):
        found = decided({"low": near(-0.2), "base": near(0), "high": near(0.002)}, baseline="base")
        assert (found.form, found.best, found.against) == ("beats others", "high", "base")
        assert (found.beaten, found.not_worse) == (("low",), ("base",))

    def test_nothing_is_shown(self):
        found = decided({"one": near(0), "other": near(0.002)}, baseline="one")
        assert (found.form, found.beaten, found.not_worse) == ("none shown", (), ("one",))
        assert found.seen.difference > 0
        assert found.seen.questions > N
        assert found.seen.visible > found.seen.difference

    def test_without_a_baseline_the_next_best_is_what_the_verdict_is_about(self):
        found = decided({"low": near(-0.2), "high": near(0.1), "next": near(0)})
        assert (found.form, found.baseline, found.against) == ("beats others", None, "next")
        assert found.seen == found.others["next"]

    @pytest.mark.parametrize(
        ("scores", "floors"),
        [({"one": near(0)}, ()), ({"one": near(0), "two": near(0.1)}, ("one", "two"))],
    )
    def test_one_cell_or_only_floors_leave_nothing_to_compare(self, scores, floors):
        found = decided(scores, floors=floors, baseline="one")
        assert found.form == "nothing to compare"
        assert (found.seen, found.cheaper) == (None, None)
        assert found.others == {}

    def test_a_run_without_a_cell_or_a_score(self):
        empty = stored({"one": {"ndcg": []}, "two": {"ndcg": []}}, baseline="one")
        assert decide(CellDifferences(empty)).form == "nothing to compare"

    def test_a_floor_is_never_the_best_but_is_compared(self):
        found = decided({"floor": near(0.2), "one": near(0), "two": near(-0.2)}, floors=["floor"])
        assert found.best == "one"
        assert found.others["floor"].worse
        assert found.not_worse == ("floor",)

    def test_what_counts_an_indexs_own_chunks_is_compared_within_a_chunker_alone(self):
        cells = {name: {"recall": near(at / 10)} for at, name in enumerate(("a", "b", "c"))}
        own = {"recall": {"within_chunker": True}}
        found = decide(CellDifferences(stored(cells, chunkers={"a": "markdown"}, metrics=own)))
        assert list(found.others) == ["b"]


class TestFamily:
    def test_every_pair_of_cells_counts_since_only_the_data_say_which_is_the_best(self):
        found = decided({name: near(at / 100) for at, name in enumerate("abcde")})
        assert {each.family for each in found.others.values()} == {10}
        first = min(found.others.values(), key=lambda each: each.p)
        assert first.p < first.corrected

    def test_the_difference_from_the_baseline_is_the_leaderboard_s_own(self):
        cells = {
            name: {"ndcg": near(at / 100), "bleu": near(0.3)} for at, name in enumerate("abcd")
        }
        contrasts = CellDifferences(stored(cells, baseline="b"))
        found = decide(contrasts)
        assert found.others["b"] == contrasts.against_baseline["d", "ndcg"]
        assert found.others["b"].family == 6
        assert found.others["a"].family == 6  # here the four cells' pairs come to the same number


class TestCheaper:
    def cheaper(self, shift, noise=1.0, **rest):
        """The decision where a cell that is `shift` worse takes a tenth of the tokens."""
        scores = {"best": near(0), "cheap": near(-shift, noise)}
        rest.setdefault("tokens", {"best": 1000, "cheap": 100})
        return decided(scores, **rest)

    def test_a_cell_that_costs_less_is_recommended_where_it_is_surely_within_the_margin(self):
        found = self.cheaper(0.004, 0.5).cheaper
        assert (found.cell, found.cost, found.best_cost) == ("cheap", 100, 1000)
        assert found.difference.low > -0.02
        assert found.difference.difference < 0
        assert (found.warranted, found.questions) == (True, None)

    def test_one_that_may_be_outside_is_not_and_it_is_said_how_many_questions_would_tell(self):
        found = self.cheaper(0.004, 4.0).cheaper
        assert found.difference.low < -0.02
        assert not found.warranted
        expected = N * (2.8016 * found.difference.error / (found.difference.difference + 0.02)) ** 2
        assert expected <= found.questions <= 1.1 * expected + 1

    def test_one_that_is_shown_to_be_worse_is_not_in_question(self):
        found = self.cheaper(0.1)
        assert (found.beaten, found.cheaper, found.cost) == (("cheap",), None, None)

    def test_of_several_the_cheapest_that_is_warranted(self):
        scores = {"best": near(0), "cheap": near(-0.003, 4.0), "middle": near(-0.004, 0.5)}
        found = decided(scores, tokens={"best": 1000, "cheap": 100, "middle": 500})
        assert found.best == "best"
        assert found.cheaper.cell == "middle"
        assert found.cheaper.warranted

    @pytest.mark.parametrize(("n", "warranted"), [(182, False), (183, True)])
    def test_cells_that_answer_alike_are_within_the_margin_by_the_exact_bound(self, n, warranted):
        # 0.025^(1/183) = 0.98004: at most 1.996 % of questions would differ.
        alike = np.linspace(0, 1, n).tolist()
        found = decided({"best": alike, "cheap": alike}, tokens={"best": 9, "cheap": 5}).cheaper
        assert found.warranted == warranted
        assert found.questions == (None if warranted else 183)

    @pytest.mark.parametrize("margin", [0, 5e-324])
    def test_no_number_of_questions_shows_that_cells_that_answer_alike_are_not_worse(self, margin):
        scores = {"best": near(0), "cheap": near(0)}
        costs = {"best": 9, "cheap": 5}
        found = decided(scores, tokens=costs, resolved={"margin": margin}).cheaper
        assert (found.warranted, found.questions) == (False, None)

    def test_cells_that_answer_alike_are_judged_by_their_clusters(self):
        alike = np.linspace(0, 1, 200).tolist()
        clusters = [f"c{at // 2}" for at in range(200)]
        scores = {"best": alike, "cheap": alike}
        found = decided(scores, tokens={"best": 9, "cheap": 5}, clusters=clusters)
        assert found.others["cheap"].units == 100
        # 183 clusters of two questions each.
        assert (found.cheaper.warranted, found.cheaper.questions) == (False, 366)


def cost(kinds, cells, run):
    """Return the first kind of cost that is known of some cells of a run, and theirs."""
    compared = operand_from_run(run).cells
    return first_known_cost(kinds, [compared[name] for name in cells])


class TestCosts:
    def run(self, **rest):
        return stored({"a": {"ndcg": near(0)}, "b": {"ndcg": near(0.1)}}, **rest)

    def test_tokens_are_the_mean_of_what_was_sent_and_said(self):
        run = self.run(tokens={"a": [10, 30] * 20, "b": 50}, seconds={"a": 1, "b": 2})
        kind, found = cost(["money", "tokens", "seconds"], ["a", "b"], run)
        assert (kind, found) == ("tokens", {"a": 20, "b": 50})

    def test_seconds_are_the_median_of_all_stages_together(self):
        run = self.run(seconds={"a": [1.0] * 20 + [3.0] * 19 + [90.0], "b": 2.0})
        kind, found = cost(["money", "tokens", "seconds"], ["a", "b"], run)
        assert (kind, found) == ("seconds", {"a": 2.0, "b": 2.0})

    def test_the_first_kind_that_is_known_of_every_cell_counts(self):
        run = self.run(tokens={"a": 10, "b": [10] * 39 + [None]}, seconds={"a": 1, "b": 2})
        assert cost(["tokens", "seconds"], ["a", "b"], run)[0] == "seconds"
        assert cost(["tokens", "seconds"], ["a"], run)[0] == "tokens"
        assert cost(["seconds", "tokens"], ["a"], run)[0] == "seconds"

    def test_where_none_is_known_there_is_none(self):
        assert cost(["money", "tokens", "seconds"], ["a"], self.run()) == (
            None,
            {},
        )
        assert cost(["money"], ["a"], self.run(tokens={"a": 1, "b": 1})) == (
            None,
            {},
        )
        assert cost(["tokens"], [], self.run()) == (None, {})


class TestWorseAt:
    """The other metrics on which the recommended cell is shown to be worse."""

    def three(self, **rest):
        cells = {
            "base": {"ndcg": near(0), "bleu": near(0.2), "rougeL": near(0)},
            "best": {"ndcg": near(0.3), "bleu": near(0), "rougeL": near(0.001)},
            "next": {"ndcg": near(0.1), "bleu": near(0), "rougeL": near(0.3)},
        }
        return decide(CellDifferences(stored(cells, **rest)))

    def test_is_told_of_the_baseline(self):
        found = self.three(baseline="base")
        assert (found.form, found.ship, found.worse_than) == ("beats baseline", "best", "base")
        assert list(found.worse_at) == ["bleu"]
        assert found.worse_at["bleu"].difference == pytest.approx(-0.2, abs=0.02)

    def test_without_one_is_told_of_the_next_best(self):
        found = self.three()
        assert (found.worse_than, list(found.worse_at)) == ("next", ["rougeL"])
        assert found.worse_at["rougeL"].family == 3
