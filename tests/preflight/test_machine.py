"""What `doctor` sees of a machine, each check against something real."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness.config.run_config import load
from harness.preflight.machine import Fact, run_checks
from harness.preflight.services import check_network, used_services
from tests.support import disks


@pytest.fixture
def environment(monkeypatch):
    """Return what sets the environment, out of which everything that doctor looks up is taken."""
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL", "LANGSMITH_TRACING"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch.setenv


def facts(name, path):
    """Return what one check sees of a configuration."""
    return [fact for check, fact in run_checks(load(path, [], {})) if check == name]


def by_chat(project, **chat):
    return project.config(generators=["chat"], chat={"model": "openai:any", **chat})


def closed():
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_without_a_configuration_no_model_library_is_imported_and_nothing_is_left(tmp_path):
    code = """
import json, sys
from harness.preflight.machine import run_checks
found = {check for check, _ in run_checks(None)}
heavy = {"torch", "transformers", "sentence_transformers", "openvino", "chromadb", "langchain"}
print(json.dumps([sorted(found), sorted(heavy & set(sys.modules))]))
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=True
    )

    found, heavy = json.loads(done.stdout)
    assert heavy == []
    assert {"versions", "processor", "models", "network", "room", "clock"} <= set(found)
    assert list(tmp_path.iterdir()) == []


def test_a_chroma_server_that_is_not_there_is_a_problem(project):
    url = f"http://127.0.0.1:{closed()}"
    project.config(index={"server": {"url": url, "timeout": 2, "retries": 0}})

    (found,) = facts("servers", Path("config.yaml"))

    assert found.status == "problem"
    assert found.text.startswith(f"Chroma at {url} cannot be used")


def test_what_leaves_the_machine_is_named(project, environment):
    environment("LANGSMITH_TRACING", "true")
    url = "https://rag.example.org/ask"
    path = project.config(
        system=[{"http": {"url": url, "response": {"answer": "$.answer"}}}, {"python": "shop:ask"}],
        **dict.fromkeys(("chunkers", "embedders", "retrievers", "generators", "context")),
        metrics=["token_f1"],
    )

    said = [each.text for each in check_network(used_services(load(path, [], {})))]

    assert said[0] == "questions go to rag.example.org:443 (system http(rag.example.org/ask))"
    assert said[1] == "python 'shop:ask': where it sends texts is not known"
    assert said[2].startswith("LANGSMITH_TRACING: LangChain sends")


def test_code_of_the_user_is_looked_for_and_not_run(project):
    (project.folder / "shop.py").write_text("raise SystemExit('it was run')")
    keys = ("chunkers", "embedders", "retrievers", "generators", "context")
    path = project.config(
        system=[{"python": "shop:ask"}, {"runnable": "nowhere_at_all:chain"}],
        **dict.fromkeys(keys),
        metrics=["token_f1"],
    )

    found = facts("servers", path)

    assert [each.status for each in found] == ["ok", "problem"]
    assert found[0].text == "python: shop is there; which key it needs is not known here"
    assert found[1].text.startswith("runnable: 'nowhere_at_all:chain' is in no package")


def test_a_model_that_is_not_here_is_looked_for_nowhere_else(project, monkeypatch):
    (project.folder / "empty").mkdir()
    models = ["nobody/no-such-model", "./nowhere", "empty"]
    path = project.config(embedders=[{"sentence_transformer": {"model": each}} for each in models])
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)

    fetched, nowhere, empty = facts("models", path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    offline, *_ = facts("models", path)

    assert (fetched.status, offline.status) == ("warning", "problem")
    assert "a run would fetch it from the Hugging Face hub" in fetched.text
    assert nowhere.text == "./nowhere (sentence_transformer): there is no such folder"
    assert "holds no model" in empty.text


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (b"GGUF and more", "ok", "chat model 'gguf:m.gguf' is here, 0.00 GB"),
        (b"<html>", "problem", "chat model 'gguf:m.gguf': the file is no GGUF file"),
    ],
)
def test_a_file_of_a_chat_model_is_looked_into(project, content, status, said):
    (project.folder / "m.gguf").write_bytes(content)
    path = project.config(generators=["chat"], chat="gguf:m.gguf")

    assert (status, said) in [(each.status, each.text) for each in facts("models", path)]


def test_a_disk_that_is_read_only_is_a_problem(project):
    path = project.config(cache="disk")
    with disks.small(project.folder / "disk") as disk:
        _, before = facts("folders", path)
        disks.read_only(disk)
        _, after = facts("folders", path)

    assert before == Fact("ok", "cache 'disk' can be written, and locked")
    assert (after.status, after.remedy) == ("problem", "name another: --set cache=FOLDER")
    assert "Read-only file system" in after.text


def test_every_problem_comes_with_a_remedy(project, environment):
    by_chat(project, base_url=f"http://127.0.0.1:{closed()}")
    (project.folder / "file").write_text("")
    path = project.config(output="file/reports", embedders=[{"model2vec": {"model": "./nowhere"}}])

    found = [fact for _, fact in run_checks(load(path, [], {})) if fact.status != "ok"]

    assert len(found) >= 3
    assert all(each.remedy for each in found)
