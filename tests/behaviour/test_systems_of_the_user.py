"""A system of the user's own: it is asked, looked up in the corpus, and scored like any other."""

import json
import sys
import threading
import time

import pytest

from tests.behaviour import harbour
from tests.behaviour.golden import check_numbers, run_folder, run_numbers
from tests.behaviour.servers import rows
from tests.support.reply_server import Drop, Trickle, replying

METRICS = ["passage_recall@2", "hit_rate@2", "recall(labels=documents)@2", "token_f1", "abstention"]
RESPONSE = {
    "answer": "$.answer",
    "contexts": "$.sources[*].text",
    "ids": "$.sources[*].id",
    "scores": "$.sources[*].score",
    "tokens_in": "$.used.in",
    "tokens_out": "$.used.out",
}
APP = """
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda

CALLS = []

def ask(question):
    CALLS.append(question)
    if "helmets" in question:
        raise RuntimeError("no helmets today")
    if "docks" in question:
        there = "THE harbour  station has 24 docks. It opened in May 2019."
        return [there, "Nothing of this stands anywhere at all."], "24 docks"
    if "riders" in question:
        return [{"text": "Riders must be 14 years old.", "id": "/srv/rules", "score": 0.5}], "14"
    if "late" in question:
        there = "A bicycle that comes back latte costs 3 dollars more."
        return {"contexts": [there], "answer": None}
    return {"contexts": [], "answer": "I don't know.", "tokens_in": 7, "tokens_out": 3}

def chained(inputs):
    text = "A day pass costs 6 dollars."
    return {"answer": "6 dollars", "context": [Document(text, metadata={"source": "fares"})]}

chain = RunnableLambda(chained)
agent = RunnableLambda(lambda inputs: {"messages": [HumanMessage("?"), AIMessage("24 docks")]})
"""


@pytest.fixture
def run(tmp_path, cli, monkeypatch):
    """Return a function that runs a system, and gives its run and its records by question."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])

    def call(system, *arguments, status=0, **changes):
        parts = ("chunkers", "embedders", "retrievers", "generators", "context", "index")
        left_out = dict.fromkeys(parts)
        harbour.write(tmp_path, **left_out, **{"metrics": METRICS, "system": system, **changes})
        said = cli("run", "config.yaml", *arguments)
        assert said.status == status, said.err
        folder = run_folder(tmp_path)
        records = {record["question"]: record for record in rows(folder / "records.jsonl")}
        return json.loads((folder / "run.json").read_text("utf-8")), records

    return call


@pytest.fixture
def module(tmp_path):
    """Write the application beside the configuration; its name is of this test alone."""
    name = f"app_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(APP, "utf-8")
    yield name
    sys.modules.pop(name, None)


def reply(body: dict) -> object:
    """Answer one question right, one with too little, and break off the others."""
    text = body["q"]
    if "day pass" in text:
        source = {"text": "A day pass costs 6 dollars.", "id": "fares", "score": 0.75}
        return {"answer": "6 dollars", "sources": [source], "used": {"in": 57, "out": 9}}
    if "docks" in text:
        return {"sources": []}
    if "riders" in text:
        return (302, {}, {"Location": "http://elsewhere.test/ask?key=1"})
    if "late" in text:
        return b'{"answer": "' + b"x" * 11_000_000 + b'"}'
    return (404, {}, {}) if "helmets" in text else b"<html>no</html>"


def test_an_endpoint_s_reply_is_read_by_paths_and_each_fault_is_recorded(run, monkeypatch):
    monkeypatch.setenv("APP_TOKEN", "s3cr3t-value")
    with replying() as server:
        server.by_question = reply
        http = {
            "url": server.url,
            "request": {"q": "{question}", "about": ["{id}"], "k": 5},
            "headers": {"Authorization": "Bearer ${APP_TOKEN}"},
            "response": RESPONSE,
            "retries": 0,
            "label": "staging",
        }
        stored, records = run({"http": http}, max_failures=6)
    assert [cell["name"] for cell in stored["cells"]] == ["staging"]
    sent = {request["body"]["about"][0]: request for request in server.asked}
    assert sent["day"]["body"] == {"q": "What does a day pass cost?", "about": ["day"], "k": 5}
    assert sent["day"]["headers"]["Authorization"] == "Bearer s3cr3t-value"
    assert [request["path"] for request in server.asked] == ["/ask"] * 6
    day = records["day"]
    assert (day["answer"], day["error"]) == ("6 dollars", None)
    assert [day["hits"][0][key] for key in ("doc", "start", "end", "score", "grade")] == [
        "fares",
        9,
        36,
        0.75,
        1,
    ]
    reasons = {id_: record["error"]["reason"] for id_, record in records.items() if id_ != "day"}
    assert {id_: reason.partition(": ")[2] for id_, reason in reasons.items()} == {
        "docks": "the reply has nothing at $.answer: it holds 'sources'",
        "age": "302 Found: it is elsewhere, and no redirect is followed: "
        "put http://elsewhere.test/ask first",
        "helmet": "404 Not Found",
        "late": "the reply is larger than 10,000,000 bytes",
        "ceo": "the reply is not JSON: Expecting value at character 0: '<html>no</html>'",
    }
    assert "s3cr3t-value" not in json.dumps([stored, records])
    scores = stored["cells"][0]["scores"]
    assert [scores["token_f1"][key] for key in ("mean", "n", "failed")] == [0.2, 5, 4]


def test_what_may_pass_is_tried_again_and_each_run_asks_anew(run):
    with replying() as server:
        soon = {"Retry-After": "0"}
        right = {"answer": "6 dollars", "sources": []}
        server.replies = [(503, {}, soon), (429, {}, soon), Drop(), right]
        http = {"url": server.url, "response": {"answer": "$.answer"}, "concurrent": 1}
        system = {"http": {**http, "retries": 3, "timeout": 5}}
        _, records = run(system, "--limit", 1, metrics=["token_f1"])
        assert len(server.asked) == 4
        assert records["day"]["answer"] == "6 dollars"
        run(system, "--limit", 1, metrics=["token_f1"])
        assert len(server.asked) == 5


def test_no_more_than_concurrent_are_asked_at_once_and_none_beyond_its_timeout(run):
    running, most, lock, together = set(), [], threading.Lock(), threading.Event()

    def slow(body):
        with lock:
            running.add(body["question"])
            most.append(len(running))
            if len(running) == 3:
                together.set()
        together.wait(5)
        time.sleep(0.03)  # one request too many has time to come
        with lock:
            running.discard(body["question"])
        return {"answer": "6 dollars"}

    with replying() as server:
        server.by_question = slow
        http = {"url": server.url, "response": {"answer": "$.answer"}, "concurrent": 3}
        run({"http": http}, metrics=["token_f1"])
        server.by_question = lambda body: Trickle(0.05, 99)
        late = {"http": {**http, "retries": 0, "timeout": 0.2, "label": "late"}}
        _, records = run(late, "--limit", 1, "--fresh", metrics=["token_f1"], max_failures=1)

    assert max(most) == 3
    assert "0.2 s" in records["day"]["error"]["reason"]
    assert records["day"]["scores"]["token_f1"]["state"] == "failed"


def test_contexts_of_a_function_are_looked_up_in_the_corpus_in_three_ways(run, module):
    stored, records = run({"python": f"{module}:ask"}, max_failures=6)
    cell = stored["cells"][0]
    matched = {key: cell["matched"][key] for key in ("exact", "spacing", "fuzzy", "unmatched")}
    assert matched == {"exact": 1, "spacing": 1, "fuzzy": 1, "unmatched": 1}
    places = {id_: [[hit["doc"], hit["start"], hit["end"]] for hit in record["hits"]]
              for id_, record in records.items()}  # fmt: skip
    assert places["age"] == [["rules", 44, 72]]
    assert places["docks"][0] == ["stations", 12, 68]
    assert places["late"][0][0] == "fares"
    assert records["helmet"]["error"]["reason"] == (
        "the system raised RuntimeError: no helmets today"
    )
    assert records["late"]["scores"]["token_f1"]["state"] == "failed"
    assert records["late"]["scores"]["passage_recall@2"]["value"] == 1
    assert [records[id_]["declined"] for id_ in ("ceo", "docks")] == [True, False]
    assert any("25.0 %" in warning for warning in stored["warnings"]), stored["warnings"]
    del records["late"], records["docks"]
    values = {
        id_: {name: [score["value"], score.get("state"), score.get("reason")]
              for name, score in records[id_]["scores"].items()}
        for id_ in sorted(records)
    }  # fmt: skip
    check_numbers("system_python", values)


def test_functions_and_runnables_are_cells_side_by_side_and_an_agent_has_no_ranking(
    run, module, tmp_path
):
    agent = {"object": f"{module}:agent", "input": "messages", "answer": "messages.-1"}
    systems = [
        {"python": {"function": f"{module}:ask", "label": "ours"}},
        {"runnable": {"object": f"{module}:chain", "input": "input", "label": "chain"}},
        {"runnable": {**agent, "contexts": "none", "label": "agent"}},
    ]
    stored, records = run(systems, max_failures=6, baseline={"system": "chain"})
    assert [cell["name"] for cell in stored["cells"]] == ["ours", "chain", "agent"]
    chain, other = (stored["cells"][place]["scores"] for place in (1, 2))
    assert (chain["passage_recall@2"]["mean"], chain["token_f1"]["mean"]) == (
        0.2,
        0.3,
    )  # "3 dollars" is half right
    assert (other["passage_recall@2"]["n"], other["token_f1"]["mean"]) == (0, 0.2)
    assert records["docks"]["answer"] == "24 docks"
    check_numbers("system_cells", run_numbers(tmp_path / "reports" / stored["id"]))


def test_a_ranking_and_answers_in_files_are_a_system_and_what_they_lack_counts_0(run, tmp_path):
    ranking = "day Q0 fares 1 9 x\nday Q0 rules 2 8 x\nage Q0 rules 1 1 x\ndocks Q0 pluto 1 1 x\n"
    (tmp_path / "my.run").write_text(ranking, "utf-8")
    answers = [
        {"id": "day", "answer": "6 dollars", "contexts": ["so"]},
        {"id": "ceo", "answer": ""},
    ]
    (tmp_path / "answers.jsonl").write_text(harbour.rows(answers), "utf-8")
    stored, records = run(
        {"trec_run": {"path": "my.run", "answers": "answers.jsonl", "label": "files"}},
        metrics=["hit_rate(labels=documents)@2", "mrr(labels=documents)@2", "token_f1"],
    )
    assert (stored["status"], stored["cells"][0]["name"]) == ("finished", "files")
    means = {name: score["mean"] for name, score in stored["cells"][0]["scores"].items()}
    assert means["hit_rate(labels=documents)@2"] == 0.4
    assert means["mrr(labels=documents)@2"] == 0.4
    assert means["token_f1"] == 0.2
    assert [hit["doc"] for hit in records["day"]["hits"]] == ["fares", "rules"]
    assert records["docks"]["hits"][0]["doc"] == "pluto"
    assert records["ceo"]["declined"] is True or records["ceo"]["error"]
    (warning,) = [text for text in stored["warnings"] if "are missing" in text]
    assert "'docks'" in warning


@pytest.mark.parametrize(
    ("system", "changes", "message"),
    [
        ({"python": "nowhere_at_all:ask"}, {}, "nowhere_at_all"),
        ({"http": {"url": "http://127.0.0.1:9/", "response": {"answer": "$.a"}, "headers":
          {"Authorization": "Bearer abcdef123456"}}}, {}, "${"),
        ({"trec_run": "none.run"}, {}, "none.run"),
        ({"trec_run": "none.run"}, {"retrievers": ["dense"]}, "retrievers"),
    ],
)  # fmt: skip
def test_a_system_that_cannot_be_asked_is_refused_before_anything_is_begun(
    system, changes, message, tmp_path, cli, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    parts = dict.fromkeys(("chunkers", "embedders", "retrievers", "generators", "context", "index"))
    harbour.write(tmp_path, **parts | {"metrics": METRICS, "system": system, **changes})
    said = cli("run", "config.yaml")
    assert (said.status, said.out) == (2, "")
    assert message in said.err
    assert "abcdef123456" not in said.err
    assert not list(tmp_path.glob("reports/*"))
