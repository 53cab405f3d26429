"""The gate at the end of `run`, night after night: samples of a day, judged with those before."""

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from tests.behaviour import stations
from tests.behaviour.golden import check_numbers

HIT, MRR = stations.METRICS
DROP = {"metric": HIT, "drop_more_than": 0.05}


@pytest.fixture
def made(tmp_path, cli, monkeypatch):
    """Return a project with a baseline, main, in which all is right."""
    monkeypatch.chdir(tmp_path)
    stations.write(tmp_path)
    made = stations.Stations(tmp_path, cli)
    assert cli("baseline", "set", made.run()).status == 0
    return made


def ended(made, places, gate, *arguments, **settings):
    """Run with a gate; return what the command came to."""
    return made.cli("run", made.config(places, gate=gate, **settings), *arguments)


class TestTheEndOfARun:
    def test_the_first_run_has_no_baseline_and_ends_with_3(self, tmp_path, cli, monkeypatch):
        monkeypatch.chdir(tmp_path)
        stations.write(tmp_path)
        made = stations.Stations(tmp_path, cli)
        first = ended(made, stations.BEST, {"fail_if": DROP})
        (run,) = Path("reports").glob("2*")
        without = ended(made, stations.BEST, {"fail_if": DROP}, "--set", "gate=null")

        assert first.status == 3
        assert "the run will not be judged: baseline 'main' is not there" in first.err
        assert (run / "report.html").is_file()
        assert (without.status, "gate" in without.out) == (0, False)
        assert cli("baseline", "set", run).status == 0
        assert ended(made, stations.BEST, {"fail_if": DROP}).status == 0

    def test_a_run_ends_as_its_gate_does(self, made):
        passed = ended(made, stations.BEST, {"fail_if": DROP})
        failed = ended(made, stations.WORSE, {"fail_if": DROP}, "--junit", "j.xml")

        assert passed.status == 0
        assert "The gate passed" in passed.out
        assert "n = 12: identical question by" in passed.out
        assert failed.status == 1
        assert "The gate failed" in failed.out
        assert "1.000 to 0.333, −0.667" in failed.out
        suite = Xml.parse("j.xml").getroot().find("testsuite")
        assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
        assert len(list(Path("reports").glob("2*/report.html"))) == 3

    def test_the_stored_run_keeps_its_rules_and_they_judge_it_again(self, made):
        ended(made, stations.WORSE, {"fail_if": DROP})
        run = max(Path("reports").glob("2*"), key=lambda path: path.stat().st_mtime_ns)

        assert made.cli("gate", run).status == 1

    def test_a_run_of_the_first_questions_is_not_judged(self, made):
        result = ended(made, stations.WORSE, {"fail_if": DROP}, "--limit", 3)
        refused = ended(made, stations.WORSE, {"fail_if": DROP}, "--limit", 3, "--junit", "j.xml")

        assert (result.status, "gate" in result.out) == (0, False)
        assert refused.status == 2
        assert "a run by --limit is not judged" in refused.err

    def test_a_run_that_is_stopped_by_failures_tells_ci_servers_so(self, made, monkeypatch):
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", "s.md")
        Path("stops.py").write_text("def ask(question):\n    raise ValueError('gone')\n")
        settings = {"system": {"python": "stops:ask"}, "max_failures": 2}
        monkeypatch.setattr(sys, "path", sys.path[:])
        result = ended(made, stations.BEST, {"fail_if": DROP}, "--junit", "j.xml", **settings)
        suite = Xml.parse("j.xml").getroot().find("testsuite")

        assert result.status == 3
        assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
        assert "max_failures: 2" in suite.find("testcase/error").text
        assert Path("s.md").read_text("utf-8").startswith("### The gate was not judged.")

    def test_too_much_that_failed_ends_with_3_after_the_report(self, made):
        made.answer("a.jsonl", [None] * 3 + ["docks"] * 9)
        system = {"trec_run": "app.run", "label": "app", "answers": "a.jsonl"}
        gate = {"fail_if": DROP, "max": {"failures": 0.1}}
        result = ended(made, stations.WORSE, gate, system=system, max_failures=0.9)

        assert result.status == 3
        assert "3 of 12 questions failed, more than `gate.max.failures: 0.1` allows" in result.out
        assert "REGRESSION" not in result.out

    def test_validate_says_the_smallest_drop_that_each_rule_can_catch(self, made):
        rules = [DROP, {**DROP, "segment": {"difficulty": "easy"}}]
        result = made.cli("validate", made.config(gate={"fail_if": rules, "min": {MRR: 0.1}}))
        lines = result.out.splitlines()
        start = next(n for n, line in enumerate(lines) if "corrected together" in line)

        assert result.status == 0
        assert "gate: 2 drop rules, 1 limit" in lines
        assert "of 2 one-sided tests corrected together" in lines[start]
        rows = [re.split(" {2,}", line) for line in lines[start + 2 : start + 4]]
        assert [[text.split(":")[0] for text in row] for row in rows] == [
            [HIT, "n = 12"], [f"{HIT} (difficulty easy)", "n = 4 is too few to catch any drop"],
        ]  # fmt: skip


class TestPools:
    SAMPLE = ("--sample", 6, "--sample-seed")

    def sampled(self, made, places, seed, gate, **settings):
        """Run a sample; return its folder, the exit status and what its gate says."""
        result = ended(made, places, gate, *self.SAMPLE, seed, "--json", **settings)
        run = Path(json.loads(result.out)["run"])
        return run, result.status, json.loads(made.cli("gate", run, "--json").out)

    def seen(self, data):
        return data["verdicts"][0]["seen"]["difference"]["n"]

    def test_samples_are_judged_together_and_a_change_begins_anew(self, made):
        gate = {"fail_if": DROP}
        first, status, one = self.sampled(made, stations.BEST, 1, gate)
        asked = {row["question"] for row in stations.lines(first / "records.jsonl")}
        second, _, both = self.sampled(made, stations.BEST, 2, gate)
        asked |= {row["question"] for row in stations.lines(second / "records.jsonl")}
        _, _, anew = self.sampled(made, stations.WORSE, 1, gate)

        assert (status, self.seen(one)) == (0, 6)
        assert 6 < self.seen(both) == len(asked) < 12
        assert any(f"{len(asked)} of 12 questions, from the last 2 runs" in note
                   for note in both["notes"])  # fmt: skip
        assert self.seen(anew) == 6
        assert any("The pool starts again" in note for note in anew["notes"])

    def test_a_pool_of_one_day_is_of_that_day_and_whole_runs_are_in_none(self, made):
        made.run()
        _, _, data = self.sampled(made, stations.BEST, 1, {"fail_if": DROP, "pool": 1})

        assert self.seen(data) == 6

    def test_a_segment_that_a_sample_drew_nothing_of_cannot_tell(self, made):
        rows = stations.lines(Path("testset.jsonl"))
        for row in rows:
            row["difficulty"] = "easy" if row["id"] == "q2" else "hard"
        Path("testset.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        made.cli("baseline", "set", made.run())
        rule = {**DROP, "segment": {"difficulty": "easy"}}
        run, status, data = self.sampled(made, stations.BEST, 1, {"fail_if": rule})

        assert "q2" not in {row["question"] for row in stations.lines(run / "records.jsonl")}
        assert (status, data["verdicts"][0]["outcome"]) == (0, "cannot tell")


def ranking(places):
    """Return the file of a system that ranks so, by its name."""
    return {"app.run": stations.ranking(places)}


def test_each_day_asks_other_questions_and_is_judged_with_the_days_before(made):
    made.config(gate={"fail_if": DROP, "pool": 2}, sample=4, sample_seed="date")
    command = ["run", "config.yaml", "--junit", "j.xml"]
    good, bad = ranking(stations.BEST), ranking([0] * 12)
    days = ["01", "02", "02", "03", "04", "05", "06"]
    results = stations.nights(
        Path(),
        (
            [f"2026-01-{day}", command, good if number < 4 else bad]
            for number, day in enumerate(days)
        ),
    )
    runs = sorted(Path("reports").glob("202601*"))
    asked = [[row["question"] for row in stations.lines(run / "records.jsonl")] for run in runs]

    assert [run.name[6:8] for run in runs] == days
    check_numbers("questions-of-each-day", asked)
    # The same on one day, and none twice in the three days of a round.
    assert asked[1] == asked[2]
    assert len({*asked[0], *asked[1], *asked[3]}) == 12
    assert len({*asked[4], *asked[5], *asked[6]}) == 12
    # One night of four cannot show a drop, two can: 1 / 2**4 and 1 / 2**8 on one side.
    assert [status for status, _, _ in results] == [0, 0, 0, 0, 0, 1, 1]
    pools = [" ".join(out.split()) for _, out, _ in results]
    assert "8 of 12 questions, from the last 3 runs of at most 2 days" in pools[3]
    assert "4 of 12 questions, from one run of at most 2 days" in pools[4]
    assert "The pool starts again" in pools[4]
    assert "8 of 12 questions, from the last 2 runs of at most 2 days" in pools[6]
    assert "1.000 to 0.000, −1.000" in pools[6]
    assert Xml.parse("j.xml").getroot().get("failures") == "1"


class TestTheReportOpensWithTheGate:
    def gate_of(self, run):
        return (run / "report.md").read_text("utf-8").split("## Verdict")[0]

    def newest(self):
        return max(Path("reports").glob("2*"), key=lambda path: path.stat().st_mtime_ns)

    def test_a_failed_rule_stands_first_with_its_figures_and_its_baseline(self, made):
        said = ended(made, stations.WORSE, {"fail_if": DROP})
        run = self.newest()

        assert said.out.startswith("The gate failed: 1 of 1 check.")
        gate = self.gate_of(run)
        assert "**The gate failed: 1 of 1 check.** Run" in gate
        assert re.search(r"against baseline main of \d{4}-\d\d-\d\d: 1 one-sided test", gate)
        assert "| REGRESSION | hit\\_rate@1: no drop of more than 0.05 | 1.000 to 0.333" in gate
        page = (run / "report.html").read_text("utf-8")
        assert page.index("The gate failed") < page.index("<h1")

    def test_report_says_again_what_was_stored_and_only_of_the_scores_that_were_judged(self, made):
        ended(made, stations.BEST, {"fail_if": DROP})
        run = self.newest()
        before = self.gate_of(run)
        Path("baselines/main.json").unlink()

        assert made.cli("report", run).status == 0
        assert self.gate_of(run) == before
        assert "The gate passed" in before
        assert made.cli("score", run, "--metric", "precision@2").status == 0
        assert "These scores were not judged" in self.gate_of(run)

    def test_a_gate_file_that_was_changed_is_not_believed(self, made):
        ended(made, stations.WORSE, {"fail_if": DROP})
        run = self.newest()
        stored = json.loads((run / "gate.json").read_text("utf-8"))
        stored["gate"]["verdicts"] = []
        (run / "gate.json").write_text(json.dumps(stored), "utf-8")

        assert made.cli("report", run).status == 0
        assert "These scores were not judged" in self.gate_of(run)

    def test_why_a_run_could_not_be_judged_is_in_its_report(self, made):
        Path("baselines/main.json").unlink()
        assert ended(made, stations.BEST, {"fail_if": DROP}).status == 3

        gate = self.gate_of(self.newest())
        assert "**The gate was not judged.**" in gate
        assert "baseline 'main' is not there" in gate
