"""`evaluate` scores what others made, `score` a stored run again; by hand and as stored before."""

import csv
import json
import shutil
from math import log2
from pathlib import Path

import pytest

from tests.behaviour import servers, stations
from tests.behaviour.golden import check_numbers, check_text

QRELS = "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\nq3 0 c 3\n"
RUN = "q1 Q0 b 1 3 x\nq1 Q0 a 2 2 x\nq1 Q0 c 3 1 x\nq2 Q0 a 1 1 x\nq9 Q0 a 1 1 x\n"
ANSWERS = [
    {"id": "a", "answer": "far away", "references": ["far"], "contexts": ["It is far."]},
    {"id": "b", "answer": None, "references": ["far"]},
    {"id": "c", "answer": "I don't know.", "answerable": False},
    {"id": "d", "answer": "It is 384,400 km away.", "references": ["384,400 km", "far"]},
]


def metrics(*names):
    return [argument for name in names for argument in ("-m", name)]


class TestRankings:
    @pytest.fixture
    def files(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("qrels").write_text(QRELS)
        Path("run").write_text(RUN)
        return ["--qrels", "qrels", "--run", "run"]

    def test_every_value_is_the_one_worked_out_by_hand(self, files, cli):
        names = ["ap", "mrr", "ndcg@3", "precision@2", "recall@2", "judged@3"]
        data = json.loads(cli("evaluate", *files, *metrics(*names), "--json").out)

        ndcg = (2 / log2(3) + 1 / 2) / (2 + 1 / log2(3))
        assert data["questions"]["q1"] == pytest.approx(
            dict(zip(names, [(1 / 2 + 2 / 3) / 2, 1 / 2, ndcg, 1 / 2, 1 / 2, 1.0], strict=True))
        )
        assert data["questions"]["q2"] == pytest.approx(
            dict(zip(names, [1, 1, 1, 1 / 2, 1, 1], strict=True))
        )
        assert data["questions"]["q3"] == dict.fromkeys(names)
        assert data["missing"] == ["q3"]
        assert data["notes"] == ["1 question of the run without judgements: left out"]
        mean = data["metrics"]["mrr"]
        assert (mean["mean"], mean["mean_finished"], mean["n"], mean["failed"]) == (
            0.5, 0.75, 3, 1,
        )  # fmt: skip

    def test_the_level_of_relevance_is_the_least_grade_that_counts(self, files, cli):
        for option in ("-l", "--relevance-level"):
            arguments = [*metrics("mrr", "recall@3"), option, "2", "--json"]
            data = json.loads(cli("evaluate", *files, *arguments).out)["questions"]
            assert data["q1"] == {"mrr": 0.5, "recall@3": 1.0}
            assert data["q2"] == {"mrr": 0.0, "recall@3": 0.0}

    def test_each_question_is_printed_where_that_is_asked_for(self, files, cli):
        result = cli("evaluate", *files, *metrics("mrr", "ndcg@3"), "--per-question")

        assert result.out.splitlines()[:4] == [
            "question\tmrr\tndcg@3",
            "q1\t0.5000\t0.6697",
            "q2\t1.0000\t1.0000",
            "q3\t–\t–",
        ]
        assert "question\t" not in cli("evaluate", *files, *metrics("mrr")).out

    def test_without_metrics_six_are_computed_and_printed_as_before(self, files, cli):
        check_numbers("evaluate-ranking", json.loads(cli("evaluate", *files, "--json").out))
        check_text("evaluate-ranking", cli("evaluate", *files).out)

    @pytest.mark.parametrize(
        "arguments", [[], ["--qrels", "qrels"], ["--qrels", "qrels", "--answers", "run"]], ids=len
    )
    def test_what_does_not_belong_together_is_refused(self, files, cli, arguments):
        result = cli("evaluate", *arguments)

        assert (result.status, result.out) == (2, "")
        assert "--qrels Q --run R, or --answers A" in result.err


class TestSeveralRankings:
    @pytest.fixture
    def three(self, tmp_path, monkeypatch):
        """Ten questions: `good` ranks each right, `same` too, and `bad` puts the right one last."""
        monkeypatch.chdir(tmp_path)
        Path("qrels").write_text("".join(f"q{n} 0 a 1\n" for n in range(10)))
        for name, places in (("good", "ab"), ("same", "ab"), ("bad_1", "ba")):
            lines = (
                f"q{n} Q0 {doc} {rank} {1 / rank} x\n"
                for n in range(10)
                for rank, doc in enumerate(places, start=1)
            )
            Path(f"{name}.run").write_text("".join(lines))
        runs = [part for name in ("good", "same", "bad_1") for part in ("--run", f"{name}.run")]
        return ["--qrels", "qrels", *runs, *metrics("mrr", "recall@2")]

    def test_are_a_row_each_with_their_tests_against_the_first(self, three, cli):
        result = cli("evaluate", *three)
        lines = [line.split() for line in result.out.splitlines()]

        assert result.status == 0
        assert ["good", "1.0000", "1.0000"] in lines
        assert ["same", "1.0000", "1.0000"] in lines
        assert ["bad_1", "0.5000−", "1.0000"] in lines
        # Ten questions of -0.5 each: p is 2 / 2**10, and no other column ever differs.
        assert "bad_1 mrr −0.5000" in " ".join(result.out.split())
        assert "0.002 10 worse" in " ".join(result.out.split())

    def test_have_their_numbers_in_json_too(self, three, cli):
        data = json.loads(cli("evaluate", *three, "--json").out)

        assert list(data["runs"]) == ["good", "same", "bad_1"]
        assert data["runs"]["bad_1"]["metrics"]["mrr"]["mean"] == 0.5
        assert list(data["differences"]) == ["same", "bad_1"]
        row = data["differences"]["bad_1"]["mrr"]
        assert (row["difference"], row["outcome"]) == (-0.5, "worse")
        assert [row["p"], row["corrected"]] == pytest.approx([2 / 2**10, 2 / 2**10])

    def test_are_printed_for_papers_and_spreadsheets(self, three, cli):
        latex, markdown, table = (
            cli("evaluate", *three, "--format", name).out for name in ("latex", "markdown", "csv")
        )

        assert "\\begin{tabular}{lrr}" in latex
        assert "good & \\textbf{1.0000} & \\textbf{1.0000} \\\\" in latex
        assert "bad\\_1 & 0.5000$^{-}$ & \\textbf{1.0000} \\\\" in latex
        assert "| bad\\_1 | 0.5000<sup>−</sup> | **1.0000** |" in markdown
        means, differences = (list(csv.reader(part.splitlines())) for part in table.split("\n\n"))
        assert means == [
            ["run", "mrr", "recall@2"], ["good", "1.0", "1.0"], ["same", "1.0", "1.0"],
            ["bad_1", "0.5", "1.0"],
        ]  # fmt: skip
        assert ["bad_1", "mrr", "-0.5"] in [row[:3] for row in differences]

    def test_one_file_twice_and_each_question_of_several_are_refused(self, three, cli):
        twice = cli("evaluate", *three, "--run", "good.run")
        each = cli("evaluate", *three, "--per-question")
        unknown = cli("evaluate", *three, "--format", "tex")

        assert [said.status for said in (twice, each, unknown)] == [2, 2, 2]
        assert "one file is named twice" in twice.err
        assert "--per-question" in each.err
        assert "latex" in unknown.err


class TestAnswers:
    @pytest.fixture
    def answers(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ANSWERS))
        return ["--answers", "a.jsonl"]

    def test_every_value_is_the_one_worked_out_by_hand(self, answers, cli):
        names = ["token_f1", "exact_match", "abstention", "context_overlap"]
        result = cli("evaluate", *answers, *metrics(*names), "--json")
        data = json.loads(result.out)

        # Words of `d`: it is 384400 km away; two of five are the reference's two.
        assert data["questions"] == {
            "a": {
                "token_f1": pytest.approx(2 / 3),
                "exact_match": 0.0,
                "abstention": 1.0,
                "context_overlap": 0.5,
            },
            "b": dict.fromkeys(names),
            "c": {name: 1.0 if name == "abstention" else None for name in names},
            "d": {
                "token_f1": pytest.approx(4 / 7),
                "exact_match": 0.0,
                "abstention": 1.0,
                "context_overlap": None,
            },
        }
        assert data["missing"] == ["b"]
        mean = data["metrics"]["token_f1"]
        assert mean["mean"] == pytest.approx((2 / 3 + 4 / 7) / 3)
        assert (mean["n"], mean["failed"], mean["not_scored"]) == (3, 1, 1)

    def test_without_metrics_all_that_need_no_model_are_computed(self, answers, cli):
        check_numbers("evaluate-answers", json.loads(cli("evaluate", *answers, "--json").out))

    def test_a_metric_that_reads_a_ranking_is_refused(self, answers, cli):
        result = cli("evaluate", *answers, *metrics("mrr@3"))

        assert (result.status, result.out) == (2, "")
        assert "metric 'mrr@3' needs ranking" in result.err

    def test_wrong_lines_are_named_all_at_once(self, answers, cli):
        Path("a.jsonl").write_text('{"id": "a"}\nnot JSON\n')
        result = cli("evaluate", *answers)

        assert result.status == 2
        assert "line 1: answer" in result.err
        assert "line 2: is not JSON" in result.err


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scored")
    stations.write(folder)
    return folder


@pytest.fixture
def run(shelf, cli, tmp_path, monkeypatch):
    """Return a run, in a copy of its project, whose answers are right in 6 of 12 questions."""
    made = stations.Stations(shelf, cli)
    if not list(shelf.glob("reports/*/run.json")):
        monkeypatch.chdir(shelf)
        made.answer(
            "a.jsonl", [stations.right(number) if number < 6 else "none" for number in range(12)]
        )
        system = {"trec_run": "app.run", "label": "app", "answers": "a.jsonl"}
        made.run(stations.WORSE, system=system, metrics=["hit_rate@1"])
    monkeypatch.chdir(shutil.copytree(shelf, tmp_path / "copy"))
    (folder,) = Path("reports").glob("2*")
    return folder


def scores(folder):
    (cell,) = json.loads((folder / "run.json").read_text("utf-8"))["cells"]
    return {name: score["mean"] for name, score in cell["scores"].items()}


class TestScoringAgain:
    def test_other_metrics_take_the_place_of_all_scores(self, run, cli):
        before = scores(run)
        result = cli("score", run, *metrics("mrr@3", "ndcg@3", "exact_match"))

        assert result.status == 0
        assert before == {"hit_rate@1": pytest.approx(4 / 12)}
        assert scores(run) == {
            "mrr@3": pytest.approx((4 + 3 / 2 + 2 / 3) / 12),
            "ndcg@3": pytest.approx((4 + 3 / log2(3) + 2 / 2) / 12),
            "exact_match": 0.5,
        }
        by_question = {
            row["question"]: row["scores"] for row in stations.lines(run / "records.jsonl")
        }
        assert by_question["q4"]["mrr@3"]["value"] == 0.5
        assert by_question["q7"]["exact_match"]["value"] == 0.0
        assert "hit_rate@1" not in by_question["q4"]
        assert "mrr@3" in (run / "report.md").read_text("utf-8")
        # Its checksums are those of the new files: whoever reads it next accepts it.
        assert cli("report", run).status == 0

    def test_the_same_metrics_leave_every_file_as_it_was(self, run, cli):
        names = ["run.json", "records.jsonl", "questions.jsonl", "texts.jsonl", "sums.json"]
        before = {name: (run / name).read_bytes() for name in names}

        assert cli("score", run).status == 0
        assert {name: (run / name).read_bytes() for name in names} == before

    def test_json_has_the_new_means(self, run, cli):
        printed = json.loads(cli("score", run, *metrics("hit_rate@3"), "--json").out)

        assert printed["cells"][0]["scores"]["hit_rate@3"]["mean"] == 0.75

    @pytest.mark.parametrize(
        ("metric", "reason"),
        [("ndgc@3", "did you mean 'ndcg'"), ("passage_recall@3", "evidence")],
    )
    def test_a_metric_that_the_run_cannot_have_is_refused(self, run, cli, metric, reason):
        result = cli("score", run, *metrics(metric))

        assert result.status == 2
        assert reason in result.err
        assert scores(run) == {"hit_rate@1": pytest.approx(4 / 12)}

    def test_a_judge_that_the_command_names_scores_the_stored_answers(self, run, cli):
        def grade(prompt):
            return "3\nRight." if "docks" in servers.part(prompt, "Answer") else "1\nWrong."

        with servers.serving(grade) as server:
            judge = json.dumps(server.settings())
            result = cli("score", run, *metrics("correctness"), "--judge", judge)
        first, last = (
            row["scores"]["correctness"]
            for row in stations.lines(run / "records.jsonl")
            if row["question"] in ("q0", "q11")
        )

        assert result.status == 0, result.err
        assert len(server.prompts) == 12
        assert (first["value"], last["value"]) == (1.0, pytest.approx(1 / 3))
        assert scores(run) == {"correctness": pytest.approx((6 + 6 / 3) / 12)}

    def test_a_judged_metric_without_a_judge_is_refused(self, run, cli):
        result = cli("score", run, *metrics("correctness"))

        assert result.status == 2
        assert "judge" in result.err
