"""A chat model and a system over HTTP whose server is in trouble: what a run makes of it."""

import json
import threading
from collections import Counter

import pytest

from tests.behaviour.golden import run_folder
from tests.behaviour.servers import rows, serving

MOON, MARS, HAMLET = "How far away is the Moon?", "Which moons does Mars have?", "Who wrote Hamlet?"
ANSWERS = {MOON: "384,400 km", MARS: "Phobos alone", HAMLET: "I don't know."}
OF_CELLS = ("chunkers", "embedders", "retrievers", "generators", "context")


def answer(prompt):
    """Answer the question of a prompt."""
    return next(text for question, text in ANSWERS.items() if question in prompt)


@pytest.fixture(params=["chat", "http"])
def server(project, request):
    """Serve what answers the questions; the project asks it as a chat model, or as a system."""
    with serving(answer) as made:
        pace = {"retries": 2, "timeout": 5}
        if request.param == "chat":
            project.config(chat=made.settings("writer", **pace), generators=["chat"])
        else:
            system = {
                "url": f"{made.url}/chat/completions",
                "request": {"messages": [{"content": "{question}"}]},
                "response": {"answer": "$.choices[0].message.content"},
                **pace,
            }
            project.config(system={"http": system}, **dict.fromkeys(OF_CELLS))
        project.config(metrics=["token_f1"], max_failures=1)
        yield made


def ran(project, cli, *options):
    """Run; return run.json and the records by question, of the only cell."""
    said = cli("run", "config.yaml", *options)
    assert said.status == 0, said.err
    folder = run_folder(project.folder)
    records = {row["question"]: row for row in rows(folder / "records.jsonl")}
    return json.loads((folder / "run.json").read_text("utf-8")), records


def times(server):
    """Return how often each question was asked."""
    asked = [next(each for each in ANSWERS if each in prompt) for prompt in server.prompts]
    return [Counter(asked)[question] for question in ANSWERS]


@pytest.mark.parametrize("status", [0, 408, 409, 429, 500, 503])
def test_a_fault_that_passes_costs_no_question(project, server, cli, status):
    faults = iter([(status, "not now")] * 2)
    server.says = lambda prompt: next(faults, answer(prompt)) if MOON in prompt else answer(prompt)
    run, records = ran(project, cli)

    assert times(server) == [3, 1, 1]
    assert [row["answer"] for row in records.values()] == [*ANSWERS.values()]
    assert run["cells"][0]["failed"] == 0


def test_a_reply_without_a_text_and_a_part_of_one_are_failures(project, server, cli):
    replies = {MOON: None, MARS: (206, "a half")}
    server.says = lambda prompt: next(
        (reply for question, reply in replies.items() if question in prompt), answer(prompt)
    )
    project.config(max_failures=3)
    run, records = ran(project, cli)

    assert run["cells"][0]["failed"] == 2
    assert "null" in records["q1"]["error"]["reason"]
    assert "206 Partial Content" in records["q2"]["error"]["reason"]
    assert records["q3"]["answer"] == ANSWERS[HAMLET]


@pytest.mark.parametrize("status", [429, 503])
def test_refusals_without_end_fail_their_question_alone_and_a_later_run_asks_it_again(
    project, server, cli, status
):
    server.says = lambda prompt: (status, "come back later") if MOON in prompt else answer(prompt)
    run, records = ran(project, cli)
    score = run["cells"][0]["scores"]["token_f1"]

    assert times(server) == [3, 1, 1]
    assert str(status) in records["q1"]["error"]["reason"]
    assert records["q1"]["answer"] is None
    assert [records[id_]["answer"] for id_ in ("q2", "q3")] == [ANSWERS[MARS], ANSWERS[HAMLET]]
    assert (score["mean"], score["n"], score["failed"]) == (pytest.approx((0 + 2 / 5) / 2), 2, 1)

    server.says = answer
    run, records = ran(project, cli)
    assert times(server)[0] == 4
    assert records["q1"]["answer"] == "384,400 km"
    assert run["cells"][0]["failed"] == 0


def test_what_is_refused_for_good_is_asked_once(project, server, cli):
    server.says = lambda prompt: (403, "not you") if MOON in prompt else answer(prompt)
    _, records = ran(project, cli)

    assert times(server) == [1, 1, 1]
    assert "403" in records["q1"]["error"]["reason"]


def test_a_server_that_is_silent_is_given_up_on_at_the_timeout(project, server, cli):
    ended = threading.Event()

    def says(prompt):
        if MOON in prompt:
            ended.wait(60)
        return answer(prompt)

    server.says = says
    for part in ("chat", "system.http"):
        name = part.partition(".")[0]
        if name in project.settings:
            options = ["--set", f"{part}.timeout=1", "--set", f"{part}.retries=1"]
    try:
        _, records = ran(project, cli, *options)
    finally:
        ended.set()

    assert times(server)[0] == 2
    assert "timed out" in records["q1"]["error"]["reason"]
    assert [records[id_]["error"] for id_ in ("q2", "q3")] == [None, None]
