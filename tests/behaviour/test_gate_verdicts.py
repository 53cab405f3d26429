"""`baseline` and `gate`: every rule and limit by hand, and every way in which a gate ends."""

import json
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
import yaml

from tests.behaviour import stations
from tests.behaviour.golden import check_numbers, check_text

HIT, MRR = stations.METRICS
DROP = {"metric": HIT, "drop_more_than": 0.05}
SLIGHT = [0] * 3 + [1] * 9
"""Three questions lost: a drop of 0.25, which may be chance."""
PRICES = {
    "currency": "EUR",
    "as_of": "2026-01-31",
    "models": {"openai:m": {"input": 1, "output": 2}},
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gated")
    stations.write(folder)
    return folder


@pytest.fixture
def made(shelf, cli, tmp_path, monkeypatch):
    """Return a copy of a project with a baseline and three runs: old, slight and worse."""
    if not (shelf / "reports").exists():
        monkeypatch.chdir(shelf)
        made = stations.Stations(shelf, cli)
        for name, places in {
            "old": stations.BEST, "slight": SLIGHT, "worse": stations.WORSE,
        }.items():  # fmt: skip
            shutil.move(made.run(places), Path("reports", name))
        assert cli("baseline", "set", "reports/old", "--why", "the one in use").status == 0
    monkeypatch.chdir(shutil.copytree(shelf, tmp_path / "copy"))
    return stations.Stations(tmp_path / "copy", cli)


@pytest.fixture
def judged(made):
    """Return a function that judges a run by rules: the exit status, and what was printed."""

    def call(run, gate, *arguments):
        made.config(gate=gate)
        result = made.cli("gate", run, "--config", "config.yaml", "--json", *arguments)
        assert "Traceback" not in result.err
        return result.status, json.loads(result.out)

    return call


def outcomes(data):
    return [(verdict["outcome"], verdict["failed"]) for verdict in data["verdicts"]]


class TestDropRules:
    def test_a_shown_drop_is_a_regression_with_figures_worked_out_by_hand(self, judged):
        status, data = judged("reports/worse", {"fail_if": [DROP, {**DROP, "metric": MRR}]})
        hit, mrr = (verdict["seen"] for verdict in data["verdicts"])

        assert (status, data["status"], data["family"]) == (1, 1, 2)
        assert outcomes(data) == [("regression", True)] * 2
        assert (hit["baseline"], hit["run"]) == (1, pytest.approx(4 / 12))
        # A baseline keeps six digits of each value: 1/3 is 0.333333 there and here.
        assert (mrr["baseline"], mrr["run"]) == (1, pytest.approx(37 / 72, abs=1e-6))
        # On one side: eight fell and none rose, 1 / 2**8, and twice that by Holm of two.
        assert [hit["p"], hit["corrected"]] == pytest.approx([1 / 2**8, 2 / 2**8])
        assert [mrr["p"], mrr["corrected"]] == pytest.approx([1 / 2**8, 2 / 2**8])

    def test_scores_that_are_the_same_pass_any_rule(self, judged):
        strict = {**DROP, "drop_more_than": 0, "strict": True}
        status, data = judged("reports/old", {"fail_if": [DROP, strict]})

        assert (status, outcomes(data)) == (0, [("pass", False)] * 2)
        assert [verdict["seen"]["p"] for verdict in data["verdicts"]] == [1, 1]

    @pytest.mark.parametrize(
        ("rule", "status", "outcome"),
        [
            ({}, 0, ("cannot tell", False)),
            ({"cannot_tell": "pass"}, 0, ("cannot tell", False)),
            ({"cannot_tell": "fail"}, 1, ("cannot tell", True)),
            ({"strict": True}, 1, ("cannot tell", True)),
            ({"strict": True, "cannot_tell": "pass"}, 0, ("cannot tell", False)),
            ({"confidence": 0.8}, 1, ("regression", True)),
            ({"drop_more_than": 0.3}, 0, ("pass", False)),
            ({"drop_more_than": 0.3, "strict": True}, 1, ("cannot tell", True)),
        ],
        ids=str,
    )
    def test_what_may_be_chance_passes_unless_the_rule_says_otherwise(
        self, judged, rule, status, outcome
    ):
        data = judged("reports/slight", {"fail_if": {**DROP, **rule}})

        # Three of twelve fell: one-sided p is 1 / 2**3, shown at 0.8 alone.
        assert data[1]["verdicts"][0]["seen"]["p"] == pytest.approx(1 / 2**3)
        assert (data[0], outcomes(data[1])) == (status, [outcome])

    def test_a_segment_is_judged_by_itself(self, judged):
        segments = [{"difficulty": "easy"}, {"difficulty": "hard"}, {"category": "odd"}]
        segments.append({"category": "odd", "difficulty": "hard"})
        rules = [{**DROP, "segment": segment} for segment in segments]
        status, data = judged("reports/worse", {"fail_if": rules})
        seen = [verdict["seen"] for verdict in data["verdicts"]]

        assert status == 1
        assert [figures["difference"]["n"] for figures in seen] == [4, 8, 6, 4]
        assert [figures["run"] for figures in seen] == pytest.approx([1, 0, 2 / 6, 0])
        assert [figures["p"] for figures in seen] == pytest.approx(
            [1, 1 / 2**8, 1 / 2**4, 1 / 2**4]
        )
        assert [outcome for outcome, _ in outcomes(data)] == [
            "pass", "regression", "cannot tell", "cannot tell",
        ]  # fmt: skip

    def test_the_cell_that_is_named_alone_is_judged(self, made, judged):
        made.rank("worse.run", stations.WORSE)
        pair = [{"trec_run": f"{name}.run", "label": name} for name in ("app", "worse")]
        run = made.run(system=pair)
        made.cli("baseline", "set", run, "--name", "pair")
        gate = {"min": {HIT: 0.9}, "baseline": "pair"}
        both, one = (
            made.cli("gate", run, "--config", made.config(system=pair, gate=rules), "--json")
            for rules in (gate, {**gate, "cell": "app"})
        )

        assert (both.status, one.status) == (1, 0)
        assert [verdict["cell"] for verdict in json.loads(one.out)["verdicts"]] == ["app"]

    def test_floors_are_left_out_unless_the_rules_name_one(self, project, cli):
        names = [f"sentence × {rest} × extractive" for rest in
                 ("hashing(dimensions=64) × dense", "bm25")]  # fmt: skip
        rules = {"fail_if": {"metric": "token_f1", "drop_more_than": 0.1}}
        project.config(retrievers=["dense", "bm25"])
        run = json.loads(cli("run", "config.yaml", "--json").out)["run"]
        cli("baseline", "set", run)
        judged = []
        for gate in (rules, {**rules, "cell": names[0]}):
            result = cli("gate", run, "--config", project.config(gate=gate), "--json")
            judged.append([verdict["cell"] for verdict in json.loads(result.out)["verdicts"]])

        assert judged == [[names[1]], [names[0]]]

    def test_a_metric_of_the_whole_set_is_judged_by_the_swap_test(self, made):
        system = {"trec_run": "app.run", "label": "app", "answers": "a.jsonl"}
        settings = {"system": system, "metrics": ["decline_recall", "token_f1"]}
        rows = stations.lines(Path("testset.jsonl"))
        for row in rows[:6]:
            row |= {"answerable": False, "answers": [], "documents": {}}
        Path("testset.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        made.answer("a.jsonl", ["I don't know."] * 6 + ["docks"] * 6)
        made.cli("baseline", "set", made.run(**settings))
        made.answer("a.jsonl", ["I don't know."] * 3 + ["docks"] * 9)
        run = made.run(**settings)
        rule = {"metric": "decline_recall", "drop_more_than": 0.1}
        result = made.cli("gate", run, "--config", made.config(gate={"fail_if": rule}, **settings),
                        "--json")  # fmt: skip
        (verdict,) = json.loads(result.out)["verdicts"]

        assert (verdict["seen"]["baseline"], verdict["seen"]["run"]) == (1.0, 0.5)
        assert verdict["seen"]["difference"]["test"] == "swap"

    def test_verdicts_and_their_words_are_as_before(self, made, judged):
        gate = {
            "fail_if": [DROP, {**DROP, "metric": MRR, "drop_more_than": 0.6},
                        {**DROP, "segment": {"category": "even"}, "confidence": 0.99}],
            "min": {HIT: 0.9, MRR: 0.5},
            "max": {"failures": 0.1, "seconds": 60},
        }  # fmt: skip
        _, data = judged("reports/worse", gate)
        result = made.cli("gate", "reports/worse", "--config", "config.yaml")
        kept = ("rule", "cell", "outcome", "failed", "seen")

        verdicts = [{key: verdict[key] for key in kept} for verdict in data["verdicts"]]
        (seconds,) = (verdict for verdict in verdicts if verdict["rule"].startswith("seconds"))
        assert 0 < seconds["seen"].pop("value") < 60

        check_numbers("gate", verdicts)
        check_text("gate", result.out)


class TestLimits:
    def test_means_are_held_to_min_as_they_stand(self, judged):
        assert judged("reports/worse", {"min": {HIT: 4 / 12, MRR: 0.51}})[0] == 0
        status, data = judged("reports/worse", {"min": {HIT: 0.34, MRR: 0.51}})

        assert (status, outcomes(data)) == (1, [("missed", True), ("pass", False)])

    def priced(self, made):
        """Run a system whose answers take 100 and 20 tokens: 0.00014 EUR a question."""
        Path("prices.yaml").write_text(yaml.safe_dump(PRICES), "utf-8")
        tokens = {"tokens_in": 100, "tokens_out": 20, "model": "openai:m"}
        rows = [
            {"id": f"q{number}", "answer": stations.right(number), **tokens} for number in range(12)
        ]
        Path("a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        system = {"trec_run": "app.run", "label": "app", "answers": "a.jsonl"}
        return made.run(system=system, prices="prices.yaml")

    def test_tokens_and_money_are_held_to_max(self, made, judged):
        run = self.priced(made)

        assert judged(run, {"max": {"tokens": 120, "money": 0.000141, "seconds": 60}})[0] == 0
        status, data = judged(run, {"max": {"tokens": 119, "money": 0.000139}})
        assert (status, outcomes(data)) == (1, [("missed", True)] * 2)

    def test_seconds_are_held_to_max(self, made, judged, monkeypatch):
        monkeypatch.setattr(sys, "path", sys.path[:])
        code = "import time\n\ndef ask(question):\n    time.sleep(0.02)\n    return [], 'docks'\n"
        Path("slow_app_4714.py").write_text(code, "utf-8")
        run = made.run(system={"python": "slow_app_4714:ask"}, metrics=["token_f1"])
        made.cli("baseline", "set", run)

        assert judged(run, {"max": {"seconds": 60}})[0] == 0
        status, data = judged(run, {"max": {"seconds": 0.015}})
        assert (status, outcomes(data)) == (1, [("missed", True)])

    def test_what_is_not_known_is_not_passed(self, judged):
        status, data = judged("reports/old", {"max": {"money": 1}})

        assert (status, outcomes(data)) == (3, [("cannot tell", False)])

    def test_too_much_that_failed_ends_with_3_and_nothing_is_judged(self, made, judged):
        made.answer("a.jsonl", [None] * 3 + ["docks"] * 9)
        system = {"trec_run": "app.run", "label": "app", "answers": "a.jsonl"}
        run = made.run(stations.WORSE, system=system, max_failures=0.9)
        few = judged(run, {"fail_if": DROP, "max": {"failures": 0.25}})
        count = judged(run, {"fail_if": DROP, "max": {"failures": 3}})
        many = judged(run, {"fail_if": DROP, "max": {"failures": 0.24}})
        own = judged(run, {"fail_if": DROP})

        assert (few[0], count[0], own[0]) == (1, 1, 1)
        assert [outcome for outcome, _ in outcomes(few[1])] == ["regression", "pass"]
        assert many[0] == 3
        assert many[1]["verdicts"] == []
        assert (
            "3 of 12 questions failed, more than `gate.max.failures: 0.24`" in many[1]["faults"][0]
        )


class TestHowItEnds:
    def test_a_run_without_a_gate_ends_with_2(self, made):
        result = made.cli("gate", "reports/old")

        assert (result.status, result.out) == (2, "")
        assert "its configuration has no gate" in result.err

    def test_a_baseline_by_name_or_file_takes_the_place_of_the_rules_own(self, made, judged):
        made.cli("baseline", "set", "reports/worse", "--name", "low")
        rules = {"fail_if": DROP}

        assert judged("reports/worse", rules)[0] == 1
        assert judged("reports/worse", rules, "--baseline", "low")[0] == 0
        assert judged("reports/worse", rules, "--baseline", "baselines/low.json")[0] == 0
        assert judged("reports/worse", {**rules, "baseline": "low"})[0] == 0

    def test_a_baseline_that_is_not_there_ends_with_2(self, made):
        config = made.config(gate={"fail_if": DROP})
        result = made.cli("gate", "reports/worse", "--config", config, "--baseline", "mian")

        assert (result.status, result.out) == (2, "")
        assert "did you mean 'main'?" in result.err

    @pytest.mark.parametrize("harm", ["content", "cut"])
    def test_a_damaged_baseline_ends_with_2(self, made, harm):
        config = made.config(gate={"fail_if": DROP})
        file = Path("baselines/main.json")
        text = file.read_text("utf-8")
        file.write_text(
            text.replace("in use", "gone") if harm == "content" else text[:300], "utf-8"
        )
        result = made.cli("gate", "reports/worse", "--config", config)

        assert (result.status, result.out) == (2, "")
        assert result.err.startswith("baselines/main.json cannot be read:")

    def test_another_corpus_ends_with_3(self, made):
        Path("corpus/0.md").write_text("Station 0 was closed.\n", "utf-8")
        run = made.run()
        config = made.config(gate={"fail_if": DROP})
        result = made.cli("gate", run, "--config", config)

        assert result.status == 3
        assert "corpus" in result.err

    @pytest.mark.parametrize(
        ("gate", "reason"),
        [
            ({"baseline": "main"}, "the gate has no rule"),
            ({"fail_if": {**DROP, "metric": "mrr@4"}}, "mrr@4"),
            ({"fail_iff": DROP}, "did you mean 'fail_if'?"),
            ({"fail_if": {**DROP, "segment": {"category": "od"}}}, "no question of the test set"),
            ({"fail_if": {**DROP, "confidence": 95}}, "less than 1, not 95"),
            ({"fail_if": {"metric": HIT}}, "the key 'drop_more_than' is missing"),
        ],
    )
    def test_wrong_rules_end_with_2(self, made, gate, reason):
        config = made.config(gate=gate)
        result = made.cli("run", config)

        assert (result.status, result.out) == (2, "")
        assert reason in result.err

    def test_junit_has_a_case_a_rule(self, made, judged):
        gate = {"fail_if": [DROP, {**DROP, "drop_more_than": 0.8}], "min": {MRR: 0.5}}
        judged("reports/worse", gate, "--junit", "out/j.xml")
        suite = Xml.parse("out/j.xml").getroot().find("testsuite")

        counts = [suite.get(key) for key in ("tests", "failures", "errors", "skipped")]
        assert counts == ["3", "1", "0", "1"]
        assert [case.get("name") for case in suite.findall("testcase")] == [
            "hit_rate@1: no drop of more than 0.05",
            "hit_rate@1: no drop of more than 0.8",
            "mrr@3: at least 0.5",
        ]
        assert suite.find("testcase/failure").get("type") == "regression"

    def test_junit_that_cannot_be_written_ends_with_2_and_a_verdict(self, made):
        config = made.config(gate={"min": {MRR: 0.5}})
        Path("file").write_text("")
        result = made.cli("gate", "reports/old", "--config", config, "--junit", "file/j.xml")

        assert result.status == 2
        assert result.out.startswith("The gate passed: 1 check.\n")

    def test_a_summary_is_appended_for_github(self, made, monkeypatch):
        config = made.config(gate={"fail_if": DROP})
        Path("s.md").write_text("before\n")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", "s.md")

        assert made.cli("gate", "reports/worse", "--config", config).status == 1
        text = Path("s.md").read_text("utf-8")
        assert text.startswith("before\n### The gate failed: 1 of 1 check.\n")
        assert "REGRESSION" in text


class TestBaselines:
    def test_the_file_needs_no_run_and_holds_who_when_why_and_all_values(self, made):
        shutil.rmtree("reports/old")
        shown = made.cli("baseline", "show")
        file = json.loads(made.cli("baseline", "show", "main", "--json").out)
        (cell,) = file["cells"]

        assert shown.status == 0
        assert "Why: the one in use" in shown.out
        assert (file["name"], file["why"], file["forced"]) == ("main", "the one in use", False)
        assert cell["scores"][HIT]["mean"] == 1.0

    def test_all_are_listed(self, made):
        made.cli("baseline", "set", "reports/worse", "--name", "low")
        heads = json.loads(made.cli("baseline", "ls", "--json").out)
        text = made.cli("baseline", "ls").out

        assert [head["name"] for head in heads] == ["low", "main"]
        names = [line.split()[0] for line in text.splitlines() if "run 2" in line]
        assert names == ["low", "main"]

    def test_setting_it_again_moves_it(self, made, judged):
        assert judged("reports/worse", {"fail_if": DROP})[0] == 1
        made.cli("baseline", "set", "reports/worse")
        assert judged("reports/worse", {"fail_if": DROP})[0] == 0

    def test_one_cell_can_be_kept(self, made):
        made.rank("worse.run", stations.WORSE)
        run = made.run(
            system=[{"trec_run": f"{name}.run", "label": name} for name in ("app", "worse")]
        )
        result = made.cli("baseline", "set", run, "--name", "one", "--cell", "worse")
        wrong = made.cli("baseline", "set", run, "--name", "two", "--cell", "wors")
        file = json.loads(made.cli("baseline", "show", "one", "--json").out)

        assert result.status == 0
        assert [cell["name"] for cell in file["cells"]] == ["worse"]
        assert file["cells"][0]["scores"][HIT]["mean"] == pytest.approx(4 / 12)
        assert wrong.status == 2
        assert "choose from: app, worse" in wrong.err

    def test_several_runs_are_one_baseline_of_means_and_a_picked_night_is_warned_of(
        self, made, judged
    ):
        half = [1] * 6 + [0] * 6
        runs = [made.run(places, "--fresh") for places in (stations.BEST, half)]
        alone = made.cli("baseline", "set", runs[0], "--name", "alone")
        result = made.cli("baseline", "set", *runs, "--name", "three", "--why", "two nights")
        again = made.cli("baseline", "set", runs[0], runs[0], "--name", "again")
        file = json.loads(made.cli("baseline", "show", "three", "--json").out)

        assert (alone.status, result.status, again.status) == (0, 0, 3)
        shown = " ".join(alone.out.split())
        assert "in 9.6 % against the best of three, in 16.4 % against the best of ten" in shown
        ids = ", ".join(run.name for run in runs)
        assert f"Baseline three is the means of 2 runs: {ids}, " in " ".join(result.out.split())
        assert [run["id"] for run in file["runs"]] == [run.name for run in runs]
        assert file["cells"][0]["scores"][HIT]["mean"] == pytest.approx(9 / 12)
        assert f"Baseline three: the means of 2 runs: {ids}" in made.cli(
            "baseline", "show", "three"
        ).out.replace("\n", " ")
        assert "it is the same run" in again.err
        # Six of twelve questions fell by one half.
        status, data = judged(runs[1], {"baseline": "three", "fail_if": DROP})
        (check,) = data["verdicts"]
        assert check["seen"]["baseline"] == pytest.approx(9 / 12)
        assert check["seen"]["difference"]["test"] == "sign-flip"  # for scores other than 0 and 1
        assert (status, check["seen"]["run"]) == (1, pytest.approx(6 / 12))

    @pytest.mark.parametrize("why", ["failures", "sample", "limit"])
    def test_a_run_that_is_not_whole_is_promoted_only_by_force(self, made, why):
        if why == "failures":
            made.answer("a.jsonl", [None] + ["docks"] * 11)
            system = {"trec_run": "app.run", "label": "app", "answers": "a.jsonl"}
            run = made.run(system=system, max_failures=0.5)
        else:
            run = made.run(stations.BEST, f"--{why}", 4)
        refused = made.cli("baseline", "set", run, "--name", "part")
        forced = made.cli("baseline", "set", run, "--name", "part", "--force")
        file = json.loads(made.cli("baseline", "show", "part", "--json").out)

        assert (refused.status, forced.status, file["forced"]) == (3, 0, True)
        assert {"failures": "1 of 12 questions failed in app", "sample": "a sample of 4 of 12",
                "limit": "only 4 of the 12 questions"}[why] in refused.err  # fmt: skip

    @pytest.mark.parametrize("name", ["..", "a/b", ".hidden", "a b"])
    def test_what_cannot_be_a_name_is_refused(self, made, name):
        result = made.cli("baseline", "set", "reports/old", "--name", name)

        assert result.status == 2
        assert "is no name of a baseline" in result.err
