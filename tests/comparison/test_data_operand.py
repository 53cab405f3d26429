"""Frames and evaluations against each other, runs and baselines, and what is refused."""

import re
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

from harness import compare, evaluate
from harness.comparison.baselines import promotion
from harness.comparison.operand import Incomparable
from harness.errors import DataError, HarnessError
from tests.support.compared import run, written

HIT, NDCG = "hit_rate@5", "ndcg@10"
BEFORE = {HIT: [1.0] * 12, NDCG: [1.0, 1.0, 1 / 3, 0.5, 0.0, 1.0] * 2}
AFTER = {HIT: [0.0] * 8 + [1.0] * 4, NDCG: [0.0, 0.5, 1 / 3, 0.5, 0.0, 0.0] * 2}
DROP = {"metric": HIT, "drop_more_than": 0.05}
IDS = [f"q{number}" for number in range(12)]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Return the folder of two runs, old and new, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    for id_, scores in (("old", BEFORE), ("new", AFTER)):
        resolved = {"gate": {"fail_if": DROP, "baseline": "main"}}
        made = run({"a": scores}, id_, categories=["x", "y"] * 6, resolved=resolved)
        written(made, tmp_path / "reports" / id_)
    promotion.promote([tmp_path / "reports" / "old"], "main")
    return tmp_path / "reports"


class TestFrames:
    def test_frames_give_the_figures_of_the_runs_they_were_made_of(self, runs):
        given = [pandas.DataFrame(each, index=IDS) for each in (BEFORE, AFTER)]
        found, wanted = compare(*given), compare(runs / "old", runs / "new")

        pandas.testing.assert_frame_equal(
            found.frame().drop(columns="cells"), wanted.frame().drop(columns="cells")
        )
        assert found.frame()["cells"].tolist() == ["before → after"] * 2

    def test_a_frame_stands_against_a_run_and_pairs_by_its_ids(self, runs):
        frame = pandas.DataFrame({"question": IDS[:10], HIT: [1.0] * 10})
        found = compare(frame, runs / "new")

        row = found.frame().iloc[0]
        assert (row["n"], row["before"], row["after"]) == (10, 1.0, pytest.approx(0.2))
        assert found.only_run == ("q10", "q11")
        assert "only new was scored by it" in found.left_out[NDCG]
        assert compare("main", frame).frame()["n"].tolist() == [10]

    def test_questions_are_paired_by_id_and_the_missing_are_not_scored(self):
        before = pandas.DataFrame({"question": [3, 1, 2], "tone": [0.25, 0.5, 1.0]})
        after = pandas.DataFrame({"tone": [0.75, None, 0.5]}, index=["1", "2", "3"])
        found = compare(before, after)

        row = found.frame().iloc[0]
        assert (row["n"], row["before"], row["after"]) == (2, 0.375, 0.625)
        (lone,) = found.pairs[0].unpaired
        assert (lone.question, lone.missing) == ("2", "run")

    def test_a_descriptive_metric_of_the_harness_is_not_tested(self):
        frame = pandas.DataFrame({"judged@5": [0.5, 1.0], "own": [True, False]}, index=["a", "b"])
        found = compare(frame, frame)

        assert found.frame()["metric"].tolist() == ["own"]
        assert found.by == "own"
        assert "descriptive" in found.pairs[0].untested["judged@5"]

    def test_nullable_and_integer_columns_and_rounding_are_taken(self):
        left = pandas.DataFrame({"x": [1, 0, None]}, index=list("abc"), dtype="Int64")
        right = pandas.DataFrame({"x": [1 + 1e-12, -1e-12, 0.5]}, index=list("abc"))

        assert compare(left, right).frame()[["before", "after", "n"]].iloc[0].tolist() == [
            0.5, 0.5, 2,
        ]  # fmt: skip


REFUSED = [
    (pandas.DataFrame({"x": [0.5]}), "index: counts the rows, and holds no question ids"),
    (pandas.DataFrame({"x": []}), "rows: there is none"),
    (pandas.DataFrame({"question": ["a"]}), "columns: there is none of a metric"),
    (pandas.DataFrame({"x": [0.5, 1]}, index=["a", "a"]), "index: 'a' is there twice"),
    (pandas.DataFrame({"x": [0.5, 1], "question": ["a", None]}), "'question': an id is missing"),
    (pandas.DataFrame({"x": [0.5, 3.0]}, index=["a", "b"]), "'x': 3.0 of question 'b' is"),
    (pandas.DataFrame({"x": [float("inf")]}, index=["a"]), "'x': inf of question 'a' is"),
    (pandas.DataFrame({"x": [10**400]}, index=["a"]), "'x': 1000000000"),
    (pandas.DataFrame({"x": [0.5j]}, index=["a"]), "'x': 0.5j of question 'a' is"),
    (pandas.DataFrame({"x": ["high"]}, index=["a"]), "'x': 'high' of question 'a' is"),
    (pandas.DataFrame({"x": [None, None]}, index=["a", "b"]), "'x': no question has a value"),
    (pandas.DataFrame({"corpus_bleu": [0.5]}, index=["a"]), "'corpus_bleu': is a metric of the"),
    (pandas.DataFrame({7: [0.5]}, index=["a"]), "column 7: is no name"),
    (pandas.DataFrame([[0, 1]], index=["a"], columns=["x", "x"]), "column 'x': is there twice"),
    (
        pandas.DataFrame({"x": [1]}, index=pandas.MultiIndex.from_tuples([("a", 1)])),
        "index: has several levels",
    ),
]  # fmt: skip


class TestRefusals:
    @pytest.mark.parametrize(("frame", "said"), REFUSED, ids=[said for _, said in REFUSED])
    def test_a_frame_that_holds_no_scores_is_refused_with_its_place(self, frame, said):
        good = pandas.DataFrame({"x": [0.5]}, index=["a"])
        with pytest.raises(DataError) as refused:
            compare(good, frame)

        assert str(refused.value).startswith("the frame 'after' cannot be read:\n  ")
        assert said in str(refused.value)
        assert all(problem.hint for problem in refused.value.problems)

    def test_all_wrong_columns_are_named_with_how_many_values_are_wrong(self):
        frame = pandas.DataFrame({"x": [2, 3, -1], "y": [None] * 3}, index=list("abc"))
        with pytest.raises(DataError) as refused:
            compare(frame, frame)

        assert [each.where for each in refused.value.problems] == ["column 'x'", "column 'y'"]
        assert "2 of question 'a' is no number from 0 to 1; so are 2 more" in str(refused.value)

    @pytest.mark.parametrize("given", [{"x": 1}, 3, pandas.Series([1.0])])
    def test_what_is_no_side_is_refused(self, given, runs):
        with pytest.raises(HarnessError, match=r"before: a .* cannot be compared\n  give a run"):
            compare(given, runs / "new")

    def test_a_frame_alone_is_refused(self):
        with pytest.raises(HarnessError, match=r"give what is compared with it"):
            compare(pandas.DataFrame({"x": [1]}, index=["a"]))


CASES = [
    {"id": f"q{number}", "question": f"{number}?", "documents": [f"d{number}"], "answer": "six"}
    for number in range(8)
]


def right(question):
    return [f"d{question[:-1]}"], "six"


class TestEvaluations:
    def test_what_evaluate_returned_compares_as_it_is_and_as_frames(self):
        metrics = ["hit_rate@1", "corpus_bleu"]
        before = evaluate(right, CASES, metrics)
        after = evaluate(lambda question: (["d0"], "no idea"), CASES, metrics)
        found = compare(before, after)

        hit, bleu = (row for row in found.pairs[0].rows)
        assert (hit.baseline, hit.run, hit.difference.p) == pytest.approx((1.0, 1 / 8, 2 / 2**7))
        assert bleu.difference.test == "swap"
        assert bleu.run == 0.0
        frames = (each.frame()[["hit_rate@1"]] for each in (before, after))
        assert compare(*frames).pairs[0].rows[0].difference.p == hit.difference.p

    def test_two_that_were_judged_by_other_labels_are_refused(self):
        by = [evaluate(right, CASES, ["mrr@1"], labels=x) for x in ("documents", "answer")]
        with pytest.raises(Incomparable, match="judged by documents, after by answer"):
            compare(*by)


def test_the_example_of_the_page_runs_as_it_stands():
    page = (Path(__file__).parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- example -->\n```python\n(.*?)```", page, re.DOTALL)
    assert found
    done = subprocess.run(
        [sys.executable, "-c", found[1]], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.startswith("Worse: hit_rate@5 fell by 0.50.")
    # Ten of twenty fell and none rose: 2 / 2**10, since the other column never differs.
    assert re.search(r"hit_rate@5 +0\.7 +0\.2 +-0\.5 +0\.001953 +worse", done.stdout)
    assert re.search(r"tone +0\.5 +0\.5 +0\.0 +1\.0 +identical", done.stdout)
