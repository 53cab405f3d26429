"""What may change behind its name is asked again; what was replied to a broken-off run is not."""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.behaviour import stations
from tests.behaviour.golden import run_folder
from tests.behaviour.servers import serving
from tests.support import embedding_server
from tests.support.reply_server import replying

DROP = {"fail_if": {"metric": "exact_match", "drop_more_than": 0.05}}
GRID = {
    "system": None,
    "chunkers": ["whole"],
    "retrievers": ["bm25"],
    "embedders": ["hashing"],
    "metrics": ["exact_match", "hit_rate@1"],
}
PART = "How many docks has station "


@pytest.fixture
def made(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    stations.write(tmp_path)
    return stations.Stations(tmp_path, cli)


@pytest.fixture
def chat():
    with serving(right) as server:
        yield server


def right(prompt: str) -> str:
    """Answer the question in a prompt."""
    return stations.right(int(prompt.rpartition(PART)[2].partition("?")[0]))


def wrong(prompt: str) -> str:
    """Answer it wrong, as a worse model under the same name may."""
    return "99 docks"


def asked_by_http(server, answer=right) -> dict:
    """Return settings that ask an HTTP application, which from now on answers so."""
    server.by_question = lambda body: {"answer": answer(body["q"])}
    request = {
        "url": server.url,
        "request": {"q": "{question}"},
        "response": {"answer": "$.answer"},
    }
    return {"system": {"http": {**request, "retries": 0}}, "metrics": ["exact_match"]}


def reused(folder: Path) -> list[dict]:
    run = json.loads((folder / "run.json").read_text("utf-8"))
    return [cell["reused"] for cell in run["cells"]]


def test_a_worse_system_on_the_same_address_fails_the_gate(made):
    with replying() as server:
        assert made.cli("baseline", "set", made.run(**asked_by_http(server))).status == 0
        same = made.cli("run", made.config(gate=DROP, **asked_by_http(server)))
        worse = made.cli("run", made.config(gate=DROP, **asked_by_http(server, wrong)))

    assert (same.status, "The gate passed" in same.out) == (0, True)
    assert (worse.status, "The gate failed" in worse.out) == (1, True)
    assert len(server.asked) == 3 * stations.COUNT
    assert reused(run_folder(made.folder)) == [{"n": 0, "oldest": None}]


def test_a_worse_helper_of_a_python_system_fails_the_gate(made, tmp_path):
    helper = f"helper_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{helper}_app.py").write_text(
        f"import {helper}\n\n\ndef ask(question):\n    return {helper}.answer(question)\n", "utf-8"
    )
    settings = {"system": {"python": f"{helper}_app:ask"}, "metrics": ["exact_match"]}
    better = f"int(question.split({PART!r})[1][:-1]) + 30"
    text = "def answer(question):\n    return {'answer': str(%s) + ' docks'}\n"
    (tmp_path / f"{helper}.py").write_text(text % better, "utf-8")
    assert made.cli("baseline", "set", made.run(**settings)).status == 0
    (tmp_path / f"{helper}.py").write_text(text % "99", "utf-8")
    for name in (helper, f"{helper}_app"):  # the next command is a process of its own
        sys.modules.pop(name)
    worse = made.cli("run", made.config(gate=DROP, **settings))

    assert (worse.status, "The gate failed" in worse.out) == (1, True)


def test_a_worse_chat_model_behind_the_same_name_fails_the_gate(made, chat):
    settings = {**GRID, "chat": chat.settings("writer"), "generators": ["chat"]}
    assert made.cli("baseline", "set", made.run(**settings)).status == 0
    chat.says = wrong
    worse = made.cli("run", made.config(gate=DROP, **settings))

    assert (worse.status, "The gate failed" in worse.out) == (1, True)
    assert len(chat.requests) == 2 * stations.COUNT


def test_a_stricter_judge_behind_the_same_name_fails_the_gate(made, chat):
    chat.says = lambda prompt: "3\nIt is all there."
    settings = {**GRID, "judge": chat.settings(), "metrics": ["correctness"]}
    assert made.cli("baseline", "set", made.run(**settings)).status == 0
    chat.says = lambda prompt: "0\nNothing is."
    rule = {"fail_if": {"metric": "correctness", "drop_more_than": 0.05}}
    worse = made.cli("run", made.config(gate=rule, **settings))

    assert (worse.status, "The gate failed" in worse.out) == (1, True)
    assert len(chat.requests) == 2 * stations.COUNT


@pytest.mark.parametrize("retriever", ["multi_query", "decompose", "hyde"])
def test_no_ranking_brings_old_rewordings_into_a_run_with_a_gate(made, chat, retriever):
    chat.says = lambda prompt: f"Station {int(right(prompt).split()[0]) - 30} has docks of its own."
    of = "hybrid" if retriever == "hyde" else "bm25"
    settings = {
        **GRID,
        "retrievers": [{retriever: {"of": of}}],
        "rerankers": [{"bi_encoder": {"embedder": "hashing"}}],
        "generators": ["extractive"],
        "chat": chat.settings("writer"),
    }
    made.run(**settings)
    first = stored_searches(made)
    chat.says = lambda prompt: "penguins of the south"
    made.run(**settings)
    kept = stored_searches(made)
    made.cli("run", made.config(gate={"min": {"hit_rate@1": 0.0}}, **settings))

    assert kept == first
    assert set(stored_searches(made)).isdisjoint(first)
    assert len(chat.requests) == 2 * stations.COUNT


def stored_searches(made) -> list[tuple[str, ...]]:
    """Return what the newest run searched for in place of each question."""
    return [
        tuple(record["searched"])
        for record in stations.lines(run_folder(made.folder) / "records.jsonl")
    ]


def test_without_a_gate_replies_are_reused_and_everything_says_how_many_and_from_when(made, chat):
    settings = {
        **GRID,
        "retrievers": [{"multi_query": {"of": "bm25"}}],
        "chat": chat.settings("writer"),
        "generators": ["chat"],
    }
    began = datetime.now(UTC) - timedelta(seconds=1)
    first = made.run(**settings)
    made.config(**settings)
    second = made.cli("run", "config.yaml")
    folder = run_folder(made.folder)
    (line,) = reused(folder)

    assert reused(first) == [{"n": 0, "oldest": None}]
    assert line["n"] == 2 * stations.COUNT == len(chat.requests)
    assert began <= datetime.fromisoformat(line["oldest"]) <= datetime.now(UTC)
    when = line["oldest"][:16].replace("T", " ")
    sentence = f"earlier replies reused: 24, the oldest of {when} UTC"
    assert sentence in second.out
    assert sentence in (folder / "report.md").read_text("utf-8")
    assert sentence in (folder / "report.html").read_text("utf-8")


def test_reuse_false_asks_anew(made, chat):
    settings = {**GRID, "chat": chat.settings("writer"), "generators": ["chat"]}
    made.run(**settings)
    made.run(reuse=False, **settings)

    assert len(chat.requests) == 2 * stations.COUNT
    assert reused(run_folder(made.folder)) == [{"n": 0, "oldest": None}]


def test_what_is_asked_anew_is_forecast(made, chat):
    settings = {**GRID, "chat": chat.settings("writer"), "generators": ["chat"]}
    made.run(**settings)
    kept = made.cli("validate", made.config(**settings), "--deep")
    anew = made.cli("validate", made.config(gate=DROP, **settings), "--deep")
    run = made.cli("run", made.config(reuse=False, **settings))

    assert "12 answers" not in kept.out
    assert "12 answers" in anew.out
    assert "12 answers" in run.err


def test_a_gate_refuses_a_stored_run_whose_replies_were_reused(made, chat):
    settings = {**GRID, "chat": chat.settings("writer"), "generators": ["chat"]}
    assert made.cli("baseline", "set", made.run(**settings)).status == 0
    old = made.run(**settings)
    gated = made.config(gate=DROP, **settings)
    refused = made.cli("gate", old, "--config", gated)
    assert made.cli("score", old).status == 0
    again = made.cli("gate", old, "--config", gated)
    new = made.run(reuse=False, **settings)
    judged = made.cli("gate", new, "--config", made.config(gate=DROP, **settings))

    assert refused.status == again.status == 3
    assert "earlier replies reused: 12, the oldest of 2" in refused.err
    assert "The gate" not in refused.out
    assert (judged.status, "The gate passed" in judged.out) == (0, True)


def test_a_run_that_was_broken_off_asks_nothing_again(made, chat):
    settings = {**GRID, "chat": chat.settings("writer"), "generators": ["chat"], "gate": DROP}
    assert made.cli("baseline", "set", made.run(**{**settings, "gate": None})).status == 0
    chat.says = lambda prompt: (400, "no more") if "station 7?" in prompt else right(prompt)
    made.config(max_failures=0.01, **settings)
    broken = made.cli("run", "config.yaml")
    asked = len(chat.requests)
    chat.says = right
    whole = made.cli("run", "config.yaml")
    continued = len(chat.requests) - asked
    made.cli("run", "config.yaml")

    assert broken.status == 3
    assert stations.COUNT < asked <= 2 * stations.COUNT
    assert (whole.status, "The gate passed" in whole.out) == (0, True)
    assert continued == 1 + 2 * stations.COUNT - asked
    assert reused(run_folder(made.folder)) == [{"n": 0, "oldest": None}]
    assert len(chat.requests) == asked + continued + stations.COUNT


def test_a_system_s_run_that_was_broken_off_asks_nothing_again(made):
    with replying() as server:
        settings = asked_by_http(server, lambda question: None)
        server.by_question = lambda body: (
            (400, {}, {}) if "station 7?" in body["q"] else {"answer": right(body["q"])}
        )
        made.config(max_failures=0.01, **settings)
        broken = made.cli("run", "config.yaml")
        asked = len(server.asked)
        asked_by_http(server)
        whole = made.cli("run", "config.yaml")

    assert (broken.status, whole.status) == (3, 0)
    assert len(server.asked) == 1 + stations.COUNT
    assert asked <= stations.COUNT


def test_the_report_says_from_when_on_vectors_of_a_hosted_model_were_kept(made, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    with embedding_server.serving() as server:
        arguments = {"model": "text-big", "base_url": server.url, "max_retries": 0}
        arguments |= {"check_embedding_ctx_length": False}
        spec = {"langchain": {"cls": embedding_server.OPENAI, "arguments": arguments}}
        settings = {**GRID, "embedders": [spec], "retrievers": ["dense"]}
        made.run(**settings)
        first = len(server.asked)
        folder = made.run(**settings)

    vectors = json.loads((folder / "run.json").read_text("utf-8"))["vectors"]
    day = datetime.now(UTC) - datetime.fromisoformat(vectors["openai:text-big"])
    assert (first > 0, len(server.asked)) == (True, first)
    assert abs(day) < timedelta(days=1)
    assert "Vectors kept since | openai:text-big 2" in (folder / "report.md").read_text("utf-8")


def test_a_pool_of_nights_leaves_out_those_that_reused_replies(made, chat):
    settings = {**GRID, "chat": chat.settings("writer"), "generators": ["chat"]}
    assert made.cli("baseline", "set", made.run(**settings)).status == 0
    reusing = made.run(sample=6, sample_seed=1, **settings)
    night = made.cli("run", made.config(sample=6, sample_seed=2, gate=DROP, **settings))

    assert reused(reusing)[0]["n"] == 6
    assert f"{reusing.name}, which reused earlier replies" in " ".join(night.out.split())
    assert "6 of 12 questions, from one run" in " ".join(night.out.split())
