"""A judge that cannot be read or reached: its verdict is missing, and never becomes a number."""

import json
import threading

import pytest

from tests.behaviour.golden import run_folder
from tests.behaviour.servers import best, part, rows, serving

UNJUDGED = "metric_failed"
"""The state of a score whose verdict is missing."""
METRICS = ["passage_recall@2", "correctness"]
MOON, MARS = "How far away is the Moon?", "Which moons does Mars have?"


@pytest.fixture
def judge():
    with serving() as chat:
        yield chat


@pytest.fixture
def judged(project, judge):
    project.config(judge=judge.settings(), metrics=METRICS, max_failures=3)
    return project


def ran(project, cli, *options):
    """Run, and return what was printed, the aggregates, and the scores of the first question."""
    said = cli("run", "config.yaml", *options)
    assert said.status == 0, said.err
    folder = run_folder(project.folder)
    (cell,) = json.loads((folder / "run.json").read_text("utf-8"))["cells"]
    return said, cell["scores"], rows(folder / "records.jsonl")[0]["scores"]


def test_an_unreadable_verdict_is_asked_for_three_times_with_other_seeds(judged, judge, cli):
    judge.says = lambda prompt: "Hm." if part(prompt, "Question") == MOON else best(prompt)
    said, means, scores = ran(judged, cli)
    seeds = [each["seed"] for each in judge.requests if MOON in each["messages"][-1]["content"]]

    assert seeds == [7, 8, 9]
    assert scores["correctness"]["value"] is None
    assert scores["correctness"]["state"] == UNJUDGED
    assert scores["correctness"]["reason"] == "no verdict in 3 replies, the last of them 'Hm.'"
    assert scores["correctness"]["verdicts"][0]["replies"] == ["Hm."] * 3
    # The mean is over the other question alone; the one without a verdict is no 0.
    assert (means["correctness"]["mean"], means["correctness"]["n"]) == (1.0, 1)
    assert (means["passage_recall@2"]["mean"], means["passage_recall@2"]["n"]) == (1.0, 2)
    text = " ".join(said.out.split())
    assert "n = 1, 1 unanswerable, 1 metric failed, 0.500–1.000 with them" in text


def test_the_first_reply_that_can_be_read_decides_and_all_are_kept(judged, judge, cli):
    replies = {MOON: iter(["Hm.", "2\nNearly."]), MARS: iter(["3"])}
    judge.says = lambda prompt: next(replies[part(prompt, "Question")])
    _, means, scores = ran(judged, cli)

    assert scores["correctness"]["value"] == pytest.approx(2 / 3)
    assert scores["correctness"]["verdicts"][0]["replies"] == ["Hm.", "2\nNearly."]
    assert means["correctness"]["mean"] == pytest.approx((2 / 3 + 1) / 2)


def test_one_missing_verdict_of_several_leaves_the_whole_score_out(judged, judge, cli):
    judge.says = lambda prompt: "Hm." if "# Mars" in part(prompt, "Passage") else "3"
    _, means, scores = ran(judged, cli, "--set", "metrics=[context_relevance@2]")

    assert scores["context_relevance@2"]["value"] is None
    assert scores["context_relevance@2"]["reason"].startswith("1 of 2 verdicts: no verdict")
    assert (means["context_relevance@2"]["mean"], means["context_relevance@2"]["n"]) == (None, 0)


def test_an_unreadable_verdict_is_not_kept_and_the_next_run_asks_again(judged, judge, cli):
    judge.says = lambda prompt: "Hm."
    _, means, _ = ran(judged, cli)
    assert means["correctness"]["mean"] is None
    before = len(judge.requests)
    judge.says = best
    _, means, _ = ran(judged, cli)

    assert means["correctness"]["mean"] == 1.0
    assert len(judge.requests) == before + 2


@pytest.mark.parametrize("status", [429, 500, 503, 0])
def test_a_passing_fault_of_the_server_is_tried_again(judged, judge, cli, status):
    faults = iter([(status, "not now")] * 2)
    judge.says = lambda prompt: next(faults, best(prompt))
    _, means, _ = ran(judged, cli, "--set", "judge.retries=2", "--set", "judge.concurrent=1")

    assert means["correctness"]["mean"] == 1.0
    assert len(judge.requests) == 4


@pytest.mark.parametrize(("status", "times"), [(400, 1), (401, 1), (429, 2), (500, 2)])
def test_a_lasting_fault_leaves_the_verdict_out_with_what_the_server_said(
    judged, judge, cli, status, times
):
    judge.says = lambda prompt: (status, "gone fishing")
    _, means, scores = ran(judged, cli, "--set", "judge.retries=1")

    assert scores["correctness"]["value"] is None
    assert scores["correctness"]["state"] == UNJUDGED
    assert str(status) in scores["correctness"]["reason"]
    assert "gone fishing" in scores["correctness"]["reason"]
    assert (means["correctness"]["mean"], means["correctness"]["n"]) == (None, 0)
    assert means["passage_recall@2"]["n"] == 2
    assert len(judge.requests) == 2 * times


def test_a_judge_that_says_nothing_in_time_leaves_the_verdict_out(judged, judge, cli):
    judge.gate = threading.Event()
    _, means, scores = ran(judged, cli, "--set", "judge.timeout=0.2")
    judge.gate.set()

    assert scores["correctness"]["value"] is None
    assert "time" in scores["correctness"]["reason"]
    assert means["correctness"]["n"] == 0


def test_a_body_that_is_no_reply_leaves_the_verdict_out(judged, judge, cli):
    judge.says = lambda prompt: (200, b"<html>Sign in</html>")
    _, means, scores = ran(judged, cli)

    assert scores["correctness"]["state"] == UNJUDGED
    assert means["correctness"]["mean"] is None


def test_a_judge_that_is_gone_ends_the_run_and_the_same_command_continues(project, judge, cli):
    questions = [f"How long is day {number} on Mars?" for number in range(24)]
    project.testset(*({"question": text, "answers": ["a day"]} for text in questions))
    project.config(judge=judge.settings(concurrent=1), metrics=["token_f1", "correctness"])
    judge.says = lambda prompt: (400, "no such judge")
    said = cli("run", "config.yaml")
    asked = len(judge.requests)
    judge.says = best
    again = cli("run", "config.yaml")

    assert said.status == 3, said
    assert "the judge gave no verdict: " in said.err
    assert "no such judge" in said.err
    assert "it failed on 20 prompts in a row" in said.err
    assert "the same command continues" in said.err
    assert asked == 20
    assert again.status == 0, again.err
    (path,) = project.folder.glob("reports/*/run.json")
    (cell,) = json.loads(path.read_text("utf-8"))["cells"]
    assert (cell["scores"]["correctness"]["mean"], cell["scores"]["correctness"]["n"]) == (1.0, 24)
