"""`from harness import compare, apply_gate, read_history`: runs, baselines and frames."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas
import pytest
import typer

from harness import apply_gate, compare, evaluate, read_history
from harness.cli import compare_verb, gate_verb, history_verb
from harness.comparison.baselines import promotion
from harness.comparison.operand import Incomparable
from harness.errors import ConfigError, DataError, HarnessError
from tests.compared import run, written
from tests.history_made import night, nights

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


@pytest.fixture
def printed(monkeypatch, capsys):
    """Return a function that runs a verb with --json, and returns what it printed."""
    app = typer.Typer()
    for each in (compare_verb, gate_verb, history_verb):
        app.add_typer(each.commands)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["harness", *map(str, arguments), "--json"])
        app(standalone_mode=False)
        return json.loads(capsys.readouterr().out)

    return call


def plain(data):
    return json.loads(json.dumps(data))


class TestRuns:
    def test_two_runs_compare_as_the_command_does(self, runs, printed):
        found = compare(runs / "old", str(runs / "new"))

        assert plain(found.as_dict()) == printed("compare", runs / "old", runs / "new")
        assert str(found).startswith("Worse: hit_rate@5 fell by 0.67.")

    def test_options_are_those_of_the_command(self, runs, printed):
        asked = ("--metric", NDCG, "--test", "t", "--correction", "bh", "--allow", "corpus")
        found = compare(
            runs / "old", runs / "new", metrics=NDCG, test="t", correction="bh", allow="corpus"
        )

        assert plain(found.as_dict()) == printed("compare", runs / "old", runs / "new", *asked)
        assert [row.difference.test for row in found.pairs[0].rows] == ["t"]

    def test_the_frame_has_a_row_a_metric_with_all_its_figures(self, runs):
        frame = compare(runs / "old", runs / "new").frame()

        assert list(frame.columns) == [
            "cells", "metric", "before", "after", "difference", "low", "high", "p", "corrected",
            "wins", "ties", "losses", "n", "effect", "verdict",
        ]  # fmt: skip
        hit = frame.iloc[0]
        assert (hit["cells"], hit["metric"], hit["verdict"]) == ("a", HIT, "worse")
        assert (hit["before"], hit["after"]) == (1.0, pytest.approx(1 / 3))
        # Eight questions fell and none rose: no other column is larger for any flip.
        assert (hit["p"], hit["corrected"]) == pytest.approx((2 / 2**8, 2 / 2**8))
        assert (hit["wins"], hit["ties"], hit["losses"], hit["n"]) == (0, 4, 8, 12)
        # Of ndcg@10 four fell by 1 and two by 0.5, a mean of -5 / 12.
        assert frame.iloc[1]["difference"] == pytest.approx(-5 / 12)

    def test_a_baseline_may_stand_on_either_side_by_name_or_file(self, runs, printed):
        found = compare("main", runs / "old")

        assert found.identical
        assert plain(found.as_dict()) == printed("compare", "main", runs / "old")
        turned = compare(runs / "new", Path("baselines/main.json"))
        assert turned.frame()["difference"].tolist() == [
            pytest.approx(2 / 3), pytest.approx(5 / 12),
        ]  # fmt: skip
        assert compare(runs / "old", "main").identical

    def test_the_cells_of_one_run_compare_by_pairs(self, tmp_path):
        folder = written(run({"a": BEFORE, "b": AFTER}, baseline="a"), tmp_path / "both")

        assert compare(folder).frame()["cells"].tolist() == ["a → b", "a → b"]
        assert compare(folder, folder, pairs="b=a").better

    def test_what_cannot_be_compared_is_refused_as_by_the_command(self, runs):
        made = run({"a": BEFORE}, "other", about={"corpus": {"hash": "z"}})
        with pytest.raises(Incomparable, match="the corpus is another"):
            compare(runs / "old", written(made, runs / "other"))


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

    def test_one_of_several_cells_is_named_to_stand_against_a_frame(self, tmp_path):
        folder = written(run({"a": BEFORE, "b": AFTER}), tmp_path / "both")
        frame = pandas.DataFrame(AFTER, index=IDS)

        with pytest.raises(Incomparable, match="cells of after:\n    after"):
            compare(folder, frame)
        assert compare(folder, frame, pairs="b=after").identical

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

    def test_frames_that_share_nothing_are_refused(self):
        one = pandas.DataFrame({"x": [1]}, index=["a"])
        with pytest.raises(Incomparable, match="share no question"):
            compare(one, pandas.DataFrame({"x": [1]}, index=["b"]))
        with pytest.raises(Incomparable, match="share no metric"):
            compare(one, pandas.DataFrame({"y": [1]}, index=["a"]))

    @pytest.mark.parametrize("option", ["test", "correction", "allow"])
    def test_an_option_that_is_not_known_is_refused(self, option, runs):
        with pytest.raises(HarnessError, match=f"{option} 'z' is not known\n  choose from"):
            compare(runs / "old", runs / "new", **{option: "z"})


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

    def test_a_question_that_failed_is_no_score_and_is_counted(self):
        def faulty(question):
            if question == "3?":
                raise TimeoutError("no reply")
            return right(question)

        before = evaluate(right, CASES, ["hit_rate@1"])
        found = compare(before, evaluate(faulty, CASES, ["hit_rate@1"])).pairs[0]

        assert found.rows[0].difference.n == 7
        assert (found.finished.baseline, found.finished.run) == (1.0, 7 / 8)
        assert [each.question for each in found.unpaired] == ["q3"]

    def test_two_that_were_judged_by_other_labels_are_refused(self):
        by = [evaluate(right, CASES, ["mrr@1"], labels=x) for x in ("documents", "answer")]
        with pytest.raises(Incomparable, match="judged by documents, after by answer"):
            compare(*by)


class TestTheGate:
    def test_the_runs_own_rules_judge_it_as_the_command_does(self, runs, printed):
        found = apply_gate(runs / "old")

        assert found.passed
        assert printed("gate", runs / "old")["verdicts"][0]["said"] == found.frame()["said"][0]
        assert not apply_gate(runs / "new").passed

    def test_rules_are_those_of_a_configuration_and_the_frame_has_their_figures(self, runs):
        rules = {"fail_if": DROP, "min": {NDCG: 0.1}, "baseline": "none yet"}
        found = apply_gate(str(runs / "new"), rules, baseline=Path("baselines/main.json"))

        assert str(found).startswith("The gate failed: 1 of 2 checks.")
        frame = found.frame()
        assert frame["outcome"].tolist() == ["regression", "pass"]
        assert frame["failed"].tolist() == [True, False]
        first = frame.iloc[0]
        # One-sided, of eight that fell and none that rose: 1 / 2**8.
        assert [first["p"], first["corrected"], first["n"]] == pytest.approx(
            [1 / 2**8, 1 / 2**8, 12]
        )
        assert (first["before"], first["after"]) == (1.0, pytest.approx(1 / 3, abs=1e-6))
        assert frame.iloc[1]["p"] is pandas.NA

    @pytest.mark.parametrize(
        ("rules", "said"),
        [
            ({}, "gate: the gate has no rule"),
            ({"fail_iff": DROP}, "unknown key 'fail_iff'\n    did you mean 'fail_if'?"),
            ({"fail_if": {"metric": HIT}}, "'gate.fail_if.0.drop_more_than' is missing"),
            ({"fail_if": {**DROP, "drop_more_than": 2.0}}, "gate.fail_if[0].drop_more_than: "),
            ({"min": {"hit_rate@4": 0.5}}, "gate.min.hit_rate@4: 'hit_rate@4' is not among"),
            ({"min": {HIT: 0.5}, "cell": "z"}, "gate.cell: no cell has the name 'z'"),
        ],
    )
    def test_wrong_rules_are_refused_with_their_place(self, runs, rules, said):
        with pytest.raises(ConfigError) as refused:
            apply_gate(runs / "new", rules)

        assert str(refused.value).startswith("rules is not a valid configuration:\n  ")
        assert said in str(refused.value)


class TestOverTime:
    def test_the_frame_has_each_value_of_the_series_as_the_command_prints_them(
        self, tmp_path, printed
    ):
        nights(tmp_path, [0.5] * 4)
        night(tmp_path, 4, {"dense": {"mrr@10": 0.4}}, config={"top_k": 5})
        night(tmp_path, 5, {"dense": {"mrr@10": 0.4}}, status="interrupted")
        night(tmp_path, 6, {"dense": {"mrr@10": 0.4}}, testset={"hash": "u"})
        frame = read_history(str(tmp_path), "mrr@10").frame()
        segments = printed("history", tmp_path)["series"][0]["segments"]

        known = frame[frame["mean"].notna()]
        for at, each in enumerate(segments):
            kept = known[known["segment"] == at][["run", "mean", "low", "high", "n", "failed"]]
            assert kept.to_dict("records") == each["values"]
        assert frame["mean"].isna().tolist() == [False] * 5 + [True, False]
        marks = frame["marks"].tolist()
        assert marks[:4] == [""] * 4
        assert marks[4] == "config top_k"
        assert marks[5] == "interrupted"
        assert "test set hash" in marks[6]
        assert str(frame["time"].iloc[0]) == "2026-01-01 02:30:00+00:00"

    def test_a_shift_that_was_called_is_marked_at_its_run(self, tmp_path):
        nights(tmp_path, [0.5, 0.51] * 30 + [0.3, 0.31] * 30)
        found = read_history(tmp_path)

        assert [each.run for each in found.called] == [60]
        marked = found.frame()["marks"].str.contains("shift from 0.505 to 0.305")
        assert marked.tolist() == [at == 60 for at in range(120)]


def test_the_example_of_the_page_runs_as_it_stands():
    page = (Path(__file__).parent.parent / "docs" / "comparing.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- example -->\n```python\n(.*?)```", page, re.DOTALL)
    assert found
    done = subprocess.run(
        [sys.executable, "-c", found[1]], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.startswith("Worse: hit_rate@5 fell by 0.50.")
    # Ten of twenty fell and none rose: 2 / 2**10, since the other column never differs.
    assert re.search(r"hit_rate@5 +0\.7 +0\.2 +-0\.5 +0\.001953 +worse", done.stdout)
    assert re.search(r"tone +0\.5 +0\.5 +0\.0 +1\.0 +identical", done.stdout)


def test_runs_compare_without_pandas_and_a_frame_names_the_extra(runs):
    code = """
import sys
sys.modules["pandas"] = None
from harness import compare, errors
found = compare("reports/old", "reports/new")
print(found.worse)
try:
    found.frame()
except errors.MissingExtra as error:
    print(error)
try:
    compare("reports/old", {})
except errors.HarnessError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("True\na frame needs a library that is not installed: pandas\n")
    assert "pip install 'pandas>=2.2'" in done.stdout
    assert "after: a dict cannot be compared" in done.stdout


def test_importing_the_library_loads_neither_pandas_nor_numpy():
    code = "import sys, harness; print({'pandas', 'numpy', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"
