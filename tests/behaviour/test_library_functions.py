"""Every public function of `import harness`, called twice: by hand, and as the command does."""

import json
import shutil
import subprocess
import sys
from math import log2
from pathlib import Path

import pandas
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage

import harness
from tests.behaviour import stations
from tests.behaviour.golden import check_numbers, check_text

HIT, MRR = stations.METRICS
DROP = {"metric": HIT, "drop_more_than": 0.05}
IDS = [f"q{number}" for number in range(12)]
PLACES = {
    "before": stations.BEST,
    "after": stations.WORSE,
}
FRAMES = {
    name: {HIT: [float(place == 1) for place in places],
           MRR: [1 / place if place else 0.0 for place in places]}
    for name, places in PLACES.items()
}  # fmt: skip
CASES = [
    {"id": "a", "question": "first at 1?", "documents": ["d1"], "answer": "one", "category": "x"},
    {"id": "b", "question": "first at 2?", "documents": {"d2": 3, "d1": 1}, "answer": "two words"},
    {"id": "c", "question": "never?", "documents": ["d9"], "answer": "nine"},
    {"id": "u", "question": "unknown?", "answerable": False},
]


def system(question):
    if question == "never?":
        raise TimeoutError("no reply in 30 s")
    if question == "unknown?":
        return [{"id": "d1", "text": "one"}], "I don't know."
    return [{"id": "d1", "text": "one"}, {"id": "d2", "text": "two"}], "one"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    stations.write(folder)
    return folder


@pytest.fixture
def runs(shelf, cli, tmp_path, monkeypatch):
    """Return the folder of two runs, before and after; of the first there is a baseline."""
    if not (shelf / "reports").exists():
        monkeypatch.chdir(shelf)
        made = stations.Stations(shelf, cli)
        for name, places in PLACES.items():
            gate = {"fail_if": DROP} if name == "after" else None
            result = cli("run", made.config(places, gate=gate), "--json")
            shutil.move(json.loads(result.out)["run"], Path("reports", name))
            if name == "before":
                assert cli("baseline", "set", "reports/before").status == 0
    monkeypatch.chdir(shutil.copytree(shelf, tmp_path / "copy"))
    return Path("reports")


def printed(cli, *arguments):
    return json.loads(cli(*arguments, "--json").out)


def plain(tree):
    return json.loads(json.dumps(tree))


def test_the_public_names_are_these():
    assert sorted(harness.__all__) == [
        "Evaluation", "Run", "__version__", "apply_gate", "calibrate", "compare", "corrected_mean",
        "evaluate", "evaluate_answers", "evaluate_run", "open_run", "read_history", "read_qrels",
        "read_run", "run",
    ]  # fmt: skip
    assert all(getattr(harness, name) for name in harness.__all__)
    assert harness.__version__.count(".") == 2


class TestEvaluate:
    def test_any_system_is_scored_at_every_cut(self):
        names = ["hit_rate", "mrr", "ndcg@2", "exact_match", "abstention"]
        data, again = (harness.evaluate(system, CASES, names, k=[1, 2]) for _ in range(2))

        assert data.values() == again.values() == {
            "a": {"hit_rate@1": 1, "hit_rate@2": 1, "mrr@1": 1, "mrr@2": 1, "ndcg@2": 1,
                  "exact_match": 1, "abstention": 1},
            "b": {"hit_rate@1": 1, "hit_rate@2": 1, "mrr@1": 1, "mrr@2": 1,
                  "ndcg@2": pytest.approx((1 + 3 / log2(3)) / (3 + 1 / log2(3))),
                  "exact_match": 0, "abstention": 1},
            "c": dict.fromkeys(data.means),
            "u": {**dict.fromkeys(data.means), "abstention": 1},
        }  # fmt: skip
        line = data.means["hit_rate@1"]
        assert (line.mean, line.mean_finished) == (pytest.approx(2 / 3), 1)
        assert (line.n, line.failed, line.not_scored) == (3, 1, 1)
        assert data.means["abstention"].mean == 3 / 4
        assert "no reply in 30 s" in data.scores["c"]["mrr@1"].reason
        assert data.judged_by == "documents"

    def test_frame_summary_and_dictionary_say_the_same(self):
        data = harness.evaluate(system, CASES, ["hit_rate@1", "token_f1"])
        frame, summary, whole = data.frame(), data.summary(), data.as_dict()

        assert isinstance(data, harness.Evaluation)
        assert frame.index.tolist() == ["a", "b", "c", "u"]
        assert frame["hit_rate@1"].tolist()[:2] == [1.0, 1.0]
        assert frame.loc["u", "token_f1"] is pandas.NA
        assert summary.loc["token_f1", "mean"] == whole["metrics"]["token_f1"]["mean"]
        assert summary.loc["token_f1", "n"] == 3
        assert whole["questions"] == data.values()
        assert data.as_dict(per_question=False)["questions"] == {}
        assert frame.equals(data.frame())
        assert plain(whole) == plain(data.as_dict())

    def test_text_and_numbers_are_as_before(self):
        names = ["hit_rate", "precision", "recall", "mrr", "ndcg", "token_f1", "abstention"]
        data = harness.evaluate(system, CASES, names, k=[1, 3])
        by_default = harness.evaluate(system, CASES)

        check_numbers("library-evaluate", data.as_dict())
        check_text("library-evaluate", str(data))
        assert set(data.means) < set(by_default.means)

    def test_wrong_cases_are_named_all_at_once(self):
        cases = [{"question": "a", "documnets": ["d1"]}, {"answer": "b"}]
        for _ in range(2):
            with pytest.raises(Exception, match="did you mean 'documents'") as refused:
                harness.evaluate(system, cases)
            assert "case 2: question: Field required" in str(refused.value)


class TestFiles:
    def test_judgements_and_rankings_are_read_and_scored(self, tmp_path):
        qrels, run = tmp_path / "qrels", tmp_path / "run"
        qrels.write_text("q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n")
        run.write_text("q1 Q0 b 1 2.5 x\nq1 Q0 a 2 1.5 x\nq2 Q0 c 1 1 x\n")
        judged = [harness.read_qrels(path) for path in (qrels, str(qrels))]
        ranked = [harness.read_run(path) for path in (run, str(run))]
        data, again = (
            harness.evaluate_run(*pair, ["mrr", "ndcg@2"])
            for pair in zip(judged, ranked, strict=True)
        )

        assert judged == [{"q1": {"a": 2, "b": 0}, "q2": {"c": 1}}] * 2
        assert ranked == [{"q1": {"b": 2.5, "a": 1.5}, "q2": {"c": 1.0}}] * 2
        assert data.values() == again.values() == {
            "q1": {"mrr": 0.5, "ndcg@2": pytest.approx(1 / log2(3))},
            "q2": {"mrr": 1, "ndcg@2": 1},
        }  # fmt: skip
        strict = harness.evaluate_run(judged[0], ranked[0], ["mrr"], 2)
        assert strict.values() == {"q1": {"mrr": 0.5}, "q2": {"mrr": 0}}

    def test_a_wrong_file_is_refused_with_its_line(self, tmp_path):
        (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 b high\n")
        for path in (tmp_path / "qrels", str(tmp_path / "qrels")):
            with pytest.raises(Exception, match="line 2: the grade 'high' is no whole number"):
                harness.read_qrels(path)
        with pytest.raises(Exception, match="does not exist"):
            harness.read_run("nowhere")

    def test_answers_are_scored_from_rows_or_a_file(self, tmp_path):
        rows = [{"id": "a", "answer": "far away", "references": ["far"]},
                {"id": "b", "answer": "far", "references": ["far"]}]  # fmt: skip
        path = tmp_path / "a.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        data = [
            harness.evaluate_answers(given, ["token_f1", "exact_match"])
            for given in (rows, path, str(path))
        ]

        assert [evaluation.values() for evaluation in data] == [
            {
                "a": {"token_f1": pytest.approx(2 / 3), "exact_match": 0},
                "b": {"token_f1": 1, "exact_match": 1},
            }
        ] * 3
        assert data[0].means["token_f1"].mean == pytest.approx(5 / 6)


class TestCompare:
    def sides(self, runs):
        frames = {name: pandas.DataFrame(scores, index=IDS) for name, scores in FRAMES.items()}
        return [
            (runs / "before", str(runs / "after")),
            ("main", runs / "after"),
            (Path("baselines/main.json"), frames["after"]),
            (frames["before"], runs / "after"),
            (frames["before"], frames["after"]),
        ]

    def test_runs_baselines_and_frames_compare_in_any_mix_to_the_same_figures(self, runs):
        columns = ["metric", "before", "after", "difference", "p", "corrected", "n", "verdict"]
        for before, after in self.sides(runs):
            data = harness.compare(before, after)
            frame = data.frame()[columns].set_index("metric")

            assert data.worse
            assert frame.loc[HIT].tolist() == pytest.approx(
                [1, 4 / 12, -8 / 12, 2 / 2**8, 2 / 2**8, 12, "worse"]
            )
            # Six digits of each value are in a baseline.
            assert frame.loc[MRR, "after"] == pytest.approx(37 / 72, abs=1e-6)
            assert str(data).startswith("Worse: hit_rate@1 fell by 0.67.")
            assert plain(harness.compare(before, after).as_dict()) == plain(data.as_dict())

    def test_it_gives_what_the_command_gives(self, runs, cli):
        data = harness.compare(
            runs / "before", runs / "after", metrics=MRR, test="t", correction="bh", allow="corpus"
        )
        options = ("-m", MRR, "--test", "t", "--correction", "bh", "--allow", "corpus")
        folders = (runs / "before", runs / "after")

        assert plain(data.as_dict()) == printed(cli, "compare", *folders, *options)
        plainly = harness.compare(*folders)
        assert plain(plainly.as_dict()) == printed(cli, "compare", *folders)

    def test_evaluations_compare_with_their_failures_left_out(self):
        cases = [
            {"id": f"q{number}", "question": f"{number}?", "documents": [f"d{number}"]}
            for number in range(8)
        ]

        def right(question):
            return [f"d{question[:-1]}"], None

        def faulty(question):
            if question == "3?":
                raise TimeoutError("gone")
            return ["d0"], None

        before, after = (harness.evaluate(one, cases, [HIT]) for one in (right, faulty))
        row = harness.compare(before, after).frame().iloc[0]
        frames = harness.compare(before.frame(), after.frame()).frame().iloc[0]

        assert (row["before"], row["after"], row["n"]) == (1, pytest.approx(1 / 7), 7)
        # Six of seven fell: 2 / 2**6.
        assert row["p"] == frames["p"] == pytest.approx(2 / 2**6)

    def test_questions_and_cells_without_a_partner_are_listed(self, runs):
        frame = pandas.DataFrame({"question": IDS[:10], HIT: [1.0] * 10})
        data = harness.compare(frame, runs / "after")

        assert data.as_dict()["only_run"] == ["q10", "q11"]
        assert data.frame().iloc[0][["n", "after"]].tolist() == [10, pytest.approx(4 / 10)]

    @pytest.mark.parametrize(
        ("frame", "reason"),
        [
            (pandas.DataFrame({"x": [0.5]}), "index: counts the rows"),
            (pandas.DataFrame({"x": [0.5, 3.0]}, index=["a", "b"]), "'x': 3.0 of question 'b' is"),
            (pandas.DataFrame({"x": [0.5, 1]}, index=["a", "a"]), "index: 'a' is there twice"),
            (pandas.DataFrame({"y": [0.5]}, index=["a"]), "share no metric"),
            (pandas.DataFrame({"x": [0.5]}, index=["z"]), "share no question"),
        ],
        ids=["no ids", "no score", "twice", "no metric", "no question"],
    )
    def test_a_frame_that_cannot_be_compared_is_refused(self, frame, reason):
        with pytest.raises(Exception, match=reason):
            harness.compare(pandas.DataFrame({"x": [0.5]}, index=["a"]), frame)


class TestGate:
    def test_a_runs_own_rules_judge_it_as_the_command_does(self, runs, cli):
        data, again = (harness.apply_gate(runs / "after") for _ in range(2))
        command = printed(cli, "gate", runs / "after")

        assert not data.passed
        assert data.frame()["said"].tolist() == [verdict["said"] for verdict in command["verdicts"]]
        assert str(data) == str(again)
        assert str(data).startswith("The gate failed: 1 of 1 check.\n")
        assert data.frame().equals(again.frame())

    def test_rules_and_a_baseline_can_be_given(self, runs):
        rules = {"fail_if": [DROP, {**DROP, "metric": MRR}], "min": {MRR: 0.5}}
        data = harness.apply_gate(
            str(runs / "after"), rules=rules, baseline=Path("baselines/main.json")
        )
        frame = data.frame()

        assert frame["outcome"].tolist() == ["regression", "regression", "pass"]
        assert frame["failed"].tolist() == [True, True, False]
        assert frame["p"].tolist()[:2] == pytest.approx([1 / 2**8] * 2)
        assert frame["corrected"].tolist()[:2] == pytest.approx([2 / 2**8] * 2)
        assert frame["p"].iloc[2] is pandas.NA
        assert harness.apply_gate(runs / "before", rules={"fail_if": DROP}).passed

    @pytest.mark.parametrize(
        ("rules", "reason"),
        [({}, "the gate has no rule"), ({"fail_iff": DROP}, "did you mean 'fail_if'?"),
         ({"min": {"mrr@4": 0.5}}, "'mrr@4' is not among")],
    )  # fmt: skip
    def test_wrong_rules_are_refused_with_their_place(self, runs, rules, reason):
        with pytest.raises(Exception, match="rules is not a valid configuration") as refused:
            harness.apply_gate(runs / "after", rules=rules)

        assert reason in str(refused.value)


def test_runs_compare_where_pandas_is_missing_and_a_frame_names_what_to_install(runs):
    code = (
        "import sys; sys.modules['pandas'] = None; import harness\n"
        "found = harness.compare('reports/before', 'reports/after'); print(found.worse)\n"
        "try: found.frame()\n"
        "except Exception as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.startswith("True\n")
    assert "pip install 'pandas>=2.2'" in done.stdout


def test_importing_the_library_loads_nothing_heavy():
    code = "import sys, harness; print({'pandas', 'numpy', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"


@pytest.fixture
def small(project):
    """Return a project of two chunkers, and run it."""
    project.config(
        chunkers=["sentence", "whole"], metrics=["passage_recall@2", "token_f1"], baseline=None
    )
    return project


class TestRun:
    def test_a_file_and_a_mapping_are_run_alike_and_keys_are_overridden(self, small, cli):
        by_file = harness.run("config.yaml", metrics=["mrr@2", "token_f1"], index__exact=True)
        by_mapping = harness.run(
            small.settings | {"index": {"exact": True}, "metrics": ["mrr@2", "token_f1"]}
        )

        assert by_file.status == by_mapping.status == "finished"
        assert by_file.id != by_mapping.id
        assert by_file.frame().equals(by_mapping.frame())
        assert by_file.report().is_file()
        assert cli("report", by_file.folder).status == 0

    def test_none_unsets_a_key_and_a_limit_asks_fewer(self, small):
        small.config(decide_by="token_f1", targets={"token_f1": 0.5}, gate={"min": {"mrr": 1}})

        run = harness.run("config.yaml", limit=1, decide_by=None, targets=None, gate=None)

        assert list(run.frame()["question"]) == ["q1", "q1"]

    def test_what_is_wrong_is_all_named(self, small):
        with pytest.raises(harness.errors.ConfigError) as caught:
            harness.run(small.settings | {"chunkers": ["sentense"]}, retriev=3)

        assert "unknown chunker 'sentense'" in str(caught.value)
        assert "retriev" in str(caught.value)

    def test_a_stored_run_gives_frames_a_verdict_a_chart_and_a_comparison(self, small, cli):
        assert cli("run", "config.yaml").status == 0
        folder = next(small.folder.glob("reports/*/run.json")).parent
        stored = json.loads((folder / "run.json").read_text("utf-8"))
        run = harness.open_run(folder)

        scores = run.scores().set_index(["cell", "metric"])
        for cell in stored["cells"]:
            for metric, score in cell["scores"].items():
                row = scores.loc[(cell["name"], metric)]
                assert [row["mean"], row["n"]] == [score["mean"], score["n"]]
        values = run.frame().groupby("cell")["token_f1"].mean()
        assert values.to_dict() == pytest.approx(scores["mean"].xs("token_f1", level=1).to_dict())
        losses = run.losses().groupby("cell")["questions"].sum()
        assert losses.to_dict() == dict.fromkeys(losses.index, 2)
        assert run.verdict.startswith(str(run).splitlines()[0])
        plotted = run.plot().to_dict()["data"]["values"]
        assert {row["name"]: row["mean"] for row in plotted} == dict(
            run.scores().query("metric == 'passage_recall@2'")[["label", "mean"]].to_numpy()
        )
        assert all(pair.rows[0].difference.difference == 0 for pair in run.compare(run).pairs)

    def test_a_notebook_shows_the_verdict_and_the_leaderboard_and_runs_nothing(self, small):
        small.testset(
            {"id": "<script>1</script>", "question": "How far?", "documents": ["moon.md"]}
        )
        run = harness.run("config.yaml", metrics=["mrr@2"], labels=None, gate=None)

        shown = run._repr_html_()

        assert shown.startswith("<h3>")
        assert "<th>" in shown
        assert "<script" not in shown
        assert "<table" in run.compare(run)._repr_html_()


class Reply:
    """What a system of somebody's own returns."""

    def __init__(self, documents, answer):
        self.documents, self.answer = documents, answer


async def awaited(question):
    """A system that is a coroutine."""
    return ["d1"], "one"


class TestEvaluateWhatPeopleHave:
    CASES = ({"id": 1, "question": "first at 1?", "documents": ["d1"], "answer": "one"},)

    @pytest.mark.parametrize(
        "reply",
        [
            (["d1"], "one"),
            [["d1"], AIMessage("one")],
            {"documents": ["d1"], "answer": "one"},
            {"source_documents": [Document("d1")], "result": "one"},
            {"contexts": [{"id": "d1", "text": "x"}], "response": AIMessage("one")},
            Reply(["d1"], "one"),
        ],
        ids=["tuple", "message", "mapping", "LangChain", "contexts", "object"],
    )
    def test_a_reply_may_have_many_forms(self, reply):
        result = harness.evaluate(lambda question: reply, self.CASES, ["mrr", "exact_match"], k=5)

        assert result.values() == {"1": {"mrr@5": 1, "exact_match": 1}}

    @pytest.mark.parametrize("reply", ["one", AIMessage("one"), (None, "one")])
    def test_an_answer_alone_is_no_ranking(self, reply):
        result = harness.evaluate(lambda question: reply, self.CASES, ["mrr", "exact_match"], k=5)

        assert result.values() == {"1": {"mrr@5": None, "exact_match": 1}}
        assert "not scored: the system does not tell what it retrieved (1 question)" in str(result)

    def test_a_coroutine_is_awaited(self):
        result = harness.evaluate(awaited, self.CASES, "mrr", k=1)

        assert result.values() == {"1": {"mrr@1": 1}}

    def test_cases_may_be_a_frame_or_a_file(self, tmp_path):
        frame = pandas.DataFrame(
            [{"id": 7, "query": "first?", "documents": [["d1", 2], [5, 1]], "answer": None}]
        )
        lines = tmp_path / "cases.jsonl"
        lines.write_text(json.dumps({"id": 7, "question": "?", "documents": {"d1": 2, "5": 1}}))
        table = tmp_path / "cases.csv"
        table.write_text("id,question,documents\n7,?,d1|5\n")

        def found(question):
            return [{"id": "x"}, {"id": 5}, {"id": "d1"}], None

        results = [
            harness.evaluate(found, cases, ["mrr", "recall"], k=2)
            for cases in (frame, lines, str(lines), table)
        ]

        assert [result.values() for result in results] == [
            {"7": {"mrr@2": 0.5, "recall@2": 0.5}}
        ] * 4

    def test_mistakes_are_said(self):
        with pytest.raises(harness.errors.HarnessError, match="the cases come second"):
            harness.evaluate(self.CASES, system)
        with pytest.raises(harness.errors.HarnessError, match="the documents come first"):
            harness.evaluate(lambda question: ("one", ["d1"]), self.CASES)

    def test_the_text_says_why_questions_failed(self):
        def broken(question):
            raise ValueError("no index")

        result = harness.evaluate(broken, self.CASES, ["mrr"], k=1)

        assert "failed: retrieval: ValueError: no index (1 question)" in str(result)
