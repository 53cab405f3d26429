"""`compare` of stored runs: the figures by hand and as before, its options, and what it refuses."""

import csv
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.behaviour import servers, stations
from tests.behaviour.golden import check_numbers, check_text


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    stations.write(folder)
    return folder


@pytest.fixture
def made(shelf, cli, tmp_path, monkeypatch):
    """Return a copy of a project in which are the runs old, new, slight and both."""
    if not (shelf / "reports").exists():
        monkeypatch.chdir(shelf)
        made = stations.Stations(shelf, cli)
        made.rank("worse.run", stations.WORSE)
        pair = [{"trec_run": f"{name}.run", "label": name} for name in ("app", "worse")]
        runs = {
            "old": made.run(),
            "new": made.run(stations.WORSE),
            "slight": made.run([2] * 6 + [1] * 6),
            "both": made.run(system=pair),
        }
        for name, folder in runs.items():
            shutil.move(folder, Path("reports", name))
    monkeypatch.chdir(shutil.copytree(shelf, tmp_path / "copy"))
    return stations.Stations(tmp_path / "copy", cli)


def compared(cli, *arguments, status=0):
    result = cli("compare", *arguments, "--json")
    assert result.status == status, result.err
    return json.loads(result.out)


def first(data):
    return {row["metric"]: row for row in data["cells"][0]["metrics"]}


def changed(made, change):
    """Change the test set by a function of its rows, and run once more."""
    rows = stations.lines(Path("testset.jsonl"))
    change(rows)
    Path("testset.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return made.run(stations.WORSE)


class TestFigures:
    def test_the_figures_of_two_runs_are_those_worked_out_by_hand(self, made, cli):
        data = compared(cli, "reports/old", "reports/new")
        hit, mrr = (first(data)[name] for name in stations.METRICS)

        assert (hit["before"], hit["after"], hit["outcome"]) == (1, pytest.approx(4 / 12), "worse")
        assert (mrr["before"], mrr["after"]) == (1, pytest.approx(37 / 72))
        assert (hit["wins"], hit["ties"], hit["losses"], hit["n"]) == (0, 4, 8, 12)
        # Eight questions fell and none rose: 2 of 2**8 flips are as far by either metric, and by
        # both together, since the same questions fell.
        assert [hit["p"], hit["corrected"]] == pytest.approx([2 / 2**8] * 2)
        assert [mrr["p"], mrr["corrected"]] == pytest.approx([2 / 2**8] * 2)
        # Cohen's d_z of eight differences of -1 and four of 0.
        assert hit["effect"] == pytest.approx(-(2 / 3) / (32 / 12 / 11) ** 0.5)
        assert len(data["cells"][0]["lost"]) == 8
        assert data["cells"][0]["won"] == []

    def test_all_figures_are_as_before(self, made, cli):
        data = compared(cli, "reports/old", "reports/new")
        kept = ("metrics", "segments", "lost", "won")

        check_numbers("compare", [{key: cell[key] for key in kept} for cell in data["cells"]])

    def test_the_page_says_the_same_as_before(self, made, cli):
        result = cli("compare", "reports/old", "reports/new")

        took = re.search(r"^What a question took .*?\n\n", result.out, re.DOTALL | re.MULTILINE)
        assert re.search(r"^Seconds, median +[\d.]+ m?s +[\d.]+ m?s$", took[0], re.MULTILINE)
        # How wide its columns are depends on the clock.
        check_text("compare", result.out.replace(took[0], ""), made.folder)
        page, text = sorted(Path("reports/new").glob("compare-*"))
        check_text("compare-page", text.read_text("utf-8"))
        page = page.read_text("utf-8")
        assert "Worse: hit_rate@1 fell by 0.67." in page
        assert "How many docks has station 4?" in page

    def test_a_run_is_identical_to_itself(self, made, cli):
        data = compared(cli, "reports/new", "reports/new")

        assert (data["identical"], data["worse"], data["better"]) == (True, False, False)
        assert {row["p"] for row in data["cells"][0]["metrics"]} == {1.0}
        assert cli("compare", "reports/new", "reports/new").out.startswith("Identical in every")

    def test_what_changed_between_the_runs_is_listed(self, made, cli):
        later = made.run(stations.WORSE, "--fresh", max_failures=0.5, seed=8)
        data = compared(cli, "reports/old", later)
        text = json.dumps(data["changes"])

        assert "max_failures" in text
        assert "seed" in text

    def test_changes_of_libraries_and_of_the_harness_itself_are_listed(self, made, cli):
        file = Path("reports/old/run.json")
        text = re.sub(r'("chromadb": ?")[^"]+', r"\g<1>0.0.1", file.read_text("utf-8"))
        file.write_text(re.sub(r'("harness": ?")[^"]+', r"\g<1>0.0.2", text), "utf-8")
        Path("reports/old/sums.json").unlink()
        data = compared(cli, "reports/old", "reports/new")
        changes = {(change["about"], change["before"]) for change in data["changes"]}
        page = cli("compare", "reports/old", "reports/new").out

        assert {("package", "0.0.1"), ("harness", "0.0.2")} <= changes
        assert "chromadb" in json.dumps(data["changes"])
        assert "0.0.1" in page

    def test_a_change_in_the_code_of_ones_own_system_is_listed(self, made, cli, monkeypatch):
        monkeypatch.setattr(sys, "path", sys.path[:])
        code = "def ask(question):\n    return ['Station 1 has 31 docks of its own.'], 'docks'\n"
        system = {"python": {"function": "own_app_4713:ask", "label": "own"}}
        runs = []
        for text in (code, code.replace("'docks'", "'31 docks'")):
            Path("own_app_4713.py").write_text(text, "utf-8")
            sys.modules.pop("own_app_4713", None)
            runs.append(made.run(system=system, metrics=["token_f1"]))
        data = compared(cli, *runs)

        assert [change["about"] for change in data["changes"]] == ["model"]
        assert "python" in data["changes"][0]["what"]

    def test_the_interval_of_a_table_is_wider_than_that_of_one_metric_alone(self, made, cli):
        alone = first(compared(cli, "reports/old", "reports/new", "-m", "hit_rate@1"))
        both = first(compared(cli, "reports/old", "reports/new"))

        one, other = alone["hit_rate@1"], both["hit_rate@1"]
        assert (one["method"], other["method"]) == ("bonett-price", "max-t")
        assert [one["low"], one["high"]] == one["pointwise"] == other["pointwise"]
        assert other["high"] - other["low"] > one["high"] - one["low"]

    def test_shares_of_failed_questions_are_compared_too(self, made, cli):
        runs = []
        for count in (0, 8):
            made.answer("a.jsonl", [None] * count + ["docks"] * (12 - count))
            system = {"trec_run": "app.run", "label": "app", "answers": "a.jsonl"}
            runs.append(made.run(system=system, max_failures=0.9))
        text = " ".join(cli("compare", *runs).out.split())

        # Eight of twelve fail, where none did: p is 2 / 2**8, which is 0.0078.
        assert (
            "Failed. 0.0 % → 66.7 % of the questions: worse (of the share that finished: 95 % "
            in text
        )
        assert "interval −0.90 to −0.25, p = 0.008, n = 12)." in text


class TestOptions:
    def test_a_metric_alone_is_a_smaller_family(self, made, cli):
        holm = ("--correction", "holm")
        data = compared(cli, "reports/old", "reports/slight", "-m", "hit_rate@1", *holm)
        both = compared(cli, "reports/old", "reports/slight", *holm)

        # Six of twelve fell: 2 / 2**6 alone, and twice that where two metrics are tested.
        assert first(data)["hit_rate@1"]["corrected"] == pytest.approx(2 / 2**6)
        assert first(both)["hit_rate@1"]["corrected"] == pytest.approx(4 / 2**6)
        assert (data["worse"], both["worse"]) == (True, False)

    @pytest.mark.parametrize("test", ["wilcoxon", "t"])
    def test_graded_scores_can_be_tested_otherwise(self, made, cli, test):
        from scipy import stats

        data = compared(cli, "reports/old", "reports/new", "--test", test)
        falls = [0] * 4 + [1 / 2] * 3 + [2 / 3] * 2 + [1] * 3
        # Wilcoxon leaves the four zeros out: all eight ranks point one way.
        expected = 2 / 2**8 if test == "wilcoxon" else stats.ttest_1samp(falls, 0).pvalue

        assert first(data)["mrr@3"]["test"] == test
        assert first(data)["mrr@3"]["p"] == pytest.approx(expected)
        assert first(data)["hit_rate@1"]["test"] == "mcnemar"

    def test_benjamini_and_hochberg_correct_less_than_holm(self, made, cli):
        holm = compared(cli, "reports/old", "reports/slight", "--correction", "holm")
        bh = compared(cli, "reports/old", "reports/slight", "--correction", "bh")

        # Both p are 2 / 2**6: Holm doubles them, and by the other they stay as they are.
        assert [row["corrected"] for row in first(holm).values()] == pytest.approx([4 / 2**6] * 2)
        assert [row["corrected"] for row in first(bh).values()] == pytest.approx([2 / 2**6] * 2)
        assert (holm["worse"], bh["worse"]) == (False, True)
        assert (holm["correction"], bh["correction"]) == ("holm", "bh")

    def test_cells_of_one_run_are_compared_by_pairs(self, made, cli):
        data = compared(cli, "reports/both", "--pair", "app=worse")
        turned = compared(cli, "reports/both", "--pair", "worse=app")

        assert first(data)["hit_rate@1"]["difference"] == pytest.approx(-8 / 12)
        assert first(turned)["hit_rate@1"]["difference"] == pytest.approx(8 / 12)
        assert (turned["cells"][0]["baseline"], turned["cells"][0]["run"]) == ("worse", "app")

    def test_cells_of_two_runs_are_compared_by_pairs(self, made, cli):
        data = compared(cli, "reports/new", "reports/both", "--pair", "app=worse")

        assert data["identical"]

    def test_a_baseline_stands_in_the_place_of_a_run(self, made, cli):
        assert cli("baseline", "set", "reports/old").status == 0
        shutil.rmtree("reports/old")

        data = compared(cli, "main", "reports/new")
        assert first(data)["hit_rate@1"]["difference"] == pytest.approx(-8 / 12)
        assert cli("compare", "main", "reports/new").status == 0

    def test_tables_are_printed_for_papers_and_spreadsheets(self, made, cli):
        latex, markdown, table = (
            cli("compare", "reports/old", "reports/new", "--format", form).out
            for form in ("latex", "markdown", "csv")
        )
        both = cli("compare", "reports/old", "reports/new", "--format", "csv", "--json")

        assert latex.count("\\begin{tabular}{lrrrrlrrr}") == 2
        assert "hit\\_rate@1 & 1.0000 & 0.3333 & $-$0.6667 {\\small (" in latex
        assert "| hit\\_rate@1 | 1.0000 | 0.3333 | −0.6667<br>" in markdown
        metrics, segments = (
            list(csv.DictReader(part.splitlines())) for part in table.split("\n\n")
        )
        assert [row["Metric"] for row in metrics] == ["hit_rate@1", "mrr@3"]
        assert float(metrics[0]["Change"]) == pytest.approx(-2 / 3)
        assert float(metrics[0]["Change low"]) < -2 / 3 < float(metrics[0]["Change high"])
        assert [row["Verdict"] for row in metrics] == ["worse", "worse"]
        assert {row["Segment"] for row in segments} > {"hard: hit_rate@1"}
        assert (both.status, "--format and --json" in both.err) == (2, True)

    def test_pages_are_written_where_out_names(self, made, cli):
        result = cli("compare", "reports/old", "reports/new", "--out", "pages/today")

        pages = sorted(Path("pages/today").iterdir())
        assert [page.suffix for page in pages] == [".html", ".md"]
        assert result.out.splitlines()[-2:] == [str(page) for page in pages]
        assert list(Path("reports/new").glob("compare-*")) == []

    @pytest.mark.parametrize(
        ("sides", "status"), [(("old", "new"), 1), (("new", "old"), 0), (("old", "old"), 0)]
    )
    def test_a_regression_ends_with_1_where_that_is_asked_for(self, made, cli, sides, status):
        folders = [f"reports/{name}" for name in sides]

        assert cli("compare", *folders).status == 0
        assert cli("compare", *folders, "--fail-on-regression").status == status

    def test_a_summary_is_appended_for_github(self, made, cli, monkeypatch):
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
        cli("compare", "reports/old", "reports/new")

        assert "hit\\_rate@1 fell by 0.67" in Path("summary.md").read_text("utf-8")


class TestOtherQuestions:
    def test_another_test_set_is_refused_and_what_both_share_is_compared_when_allowed(
        self, made, cli
    ):
        def change(rows):
            rows[0]["question"] = "What are the docks of station 0?"
            rows[1]["documents"] = {"2.md": 1}
            del rows[11]

        later = changed(made, change)
        refused = cli("compare", "reports/old", later, "--fail-on-regression")
        data = compared(cli, "reports/old", later, "--allow", "testset")

        assert (refused.status, refused.out) == (3, "")
        assert "--allow testset" in refused.err
        assert data["allowed"] == ["testset"]
        assert data["questions"] == 9
        assert data["only_baseline"] == ["q11"]
        assert data["changed_questions"] == ["q0", "q1"]
        # Of q2 to q10 two are still first.
        assert first(data)["hit_rate@1"]["after"] == pytest.approx(2 / 9)

    def test_all_reasons_are_given_at_once(self, made, cli):
        Path("corpus/0.md").write_text("Station 0 was closed.\n", "utf-8")
        later = changed(made, lambda rows: rows.pop())
        refused = cli("compare", "reports/old", later)
        data = compared(cli, "reports/old", later, "--allow", "testset", "--allow", "corpus")

        assert refused.status == 3
        assert "--allow testset" in refused.err
        assert "--allow corpus" in refused.err
        assert data["questions"] == 11

    def test_what_another_judge_scored_is_refused_or_left_out(self, made, cli):
        made.answer("a.jsonl", [stations.right(number) for number in range(12)])
        system = {"trec_run": "app.run", "label": "app", "answers": "a.jsonl"}
        metrics = ["hit_rate@1", "correctness"]
        with servers.serving() as server:
            runs = [
                made.run(system=system, metrics=metrics, judge=server.settings(name))
                for name in ("one", "other")
            ]
        refused = cli("compare", *runs)
        data = compared(cli, *runs, "--allow", "metrics")

        assert (refused.status, refused.out) == (3, "")
        assert "correctness" in refused.err
        assert list(first(data)) == ["hit_rate@1"]

    def test_metrics_of_one_side_alone_are_left_out_and_said(self, made, cli):
        data = compared(cli, "reports/old", made.run(metrics=["hit_rate@1", "ndcg@3"]))

        assert list(first(data)) == ["hit_rate@1"]
        assert set(data["left_out"]) == {"mrr@3", "ndcg@3"}


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        (["reports/old", "reports/gone"], 2, "run.json: is not there"),
        (["mian", "reports/new"], 2, "baseline 'mian' is not there"),
        (["reports/old", "reports/new", "--test", "z"], 2, "--test 'z' is not known"),
        (["reports/old", "reports/new", "--correction", "z"], 2, "--correction 'z' is not known"),
        (["reports/old", "reports/new", "--allow", "all"], 2, "--allow 'all' is not known"),
        (["reports/old", "reports/new", "-m", "mrr@4"], 2, "did you mean 'mrr@3'"),
        (["reports/old", "reports/new", "--pair", "app"], 2, "does not name a cell on each side"),
        (["reports/old"], 2, "name another run to compare it with"),
    ],
)
def test_wrong_input_ends_with_2_and_says_why(made, cli, arguments, status, reason):
    result = cli("compare", *arguments)

    assert (result.status, result.out) == (status, "")
    assert reason in result.err


def test_a_damaged_run_is_refused_by_name(made, cli):
    records = Path("reports/new/records.jsonl")
    records.write_text(records.read_text("utf-8")[:-40], "utf-8")
    result = cli("compare", "reports/old", "reports/new")

    assert (result.status, result.out) == (2, "")
    assert "records.jsonl" in result.err
