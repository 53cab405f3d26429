"""No verb on a stored run or a baseline imports, opens or asks what only its files name."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.files import checksums
from tests.behaviour.golden import run_folder

MODULE, FOLDER = "canary_4716", "named-by-a-run"
_watched: list[tuple[str, str]] | None = None


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched is not None and event in ("open", "import", "socket.connect", "os.listdir"):
        _watched.append((event, str(arguments[1 if event == "socket.connect" else 0])))


@pytest.fixture
def events(monkeypatch):
    """Return what is opened, imported and connected to from here on, as Python audits it."""
    monkeypatch.setattr(sys.modules[__name__], "_watched", [])
    if not getattr(sys, "_watched_by_a_test", False):
        sys.addaudithook(_note)  # there is no way to take one out
        sys._watched_by_a_test = True
    return _watched


@pytest.fixture
def stranger(project, cli) -> Path:
    """Return a run whose files name code, files and servers wherever they can; a baseline too."""
    project.config(labels="documents", metrics=["hit_rate@2", "token_f1", "abstention"])
    assert cli("run", "config.yaml").status == 0
    folder = run_folder(project.folder)
    assert cli("baseline", "set", folder).status == 0
    (project.folder / f"{MODULE}.py").write_text("def ask(question): ...\n", "utf-8")
    for name in ("chroma", "model"):
        (project.folder / FOLDER / name).mkdir(parents=True)
    for name in ("corpus.md", "prices.yaml", "prompt.txt", "set.jsonl"):
        (project.folder / FOLDER / name).write_text("x\n", "utf-8")
    url = "http://192.0.2.1/v1"
    code = {"langchain": {"cls": f"{MODULE}:ask", "arguments": {"base_url": url}}}
    asked = {"url": url, "response": {"answer": "$.answer"}}
    named = {
        "corpus": FOLDER,
        "testset": f"{FOLDER}/set.jsonl",
        "prices": f"{FOLDER}/prices.yaml",
        "traffic": f"{FOLDER}/set.jsonl",
        "cache": FOLDER,
        "system": [{"python": {"function": f"{MODULE}:ask"}}, {"http": asked}],
        "chunkers": [{"token": {"tokenizer": f"{FOLDER}/model"}}],
        "embedders": [code, {"sentence_transformer": {"model": f"{FOLDER}/model"}}],
        "rerankers": [code],
        "generators": [{"chat": {"model": "openai:m", "prompt": f"{FOLDER}/prompt.txt"}}],
        "chat": {"model": f"gguf:{FOLDER}/model.gguf"},
        "judge": {"model": "openai:gpt", "base_url": url},
        "index": {"existing": {"collection": "c", "path": f"{FOLDER}/chroma"}},
        "gate": {
            "fail_if": [{"metric": "token_f1", "drop_more_than": 0.1}],
            "baseline": f"{FOLDER}/set.json",
        },
    }
    for file in (folder / "run.json", project.folder / "baselines" / "main.json"):
        content = json.loads(file.read_text("utf-8"))
        for settings in (content["config"].get("given", {}), content["config"].get("resolved", {})):
            settings |= named
        for number, metric in enumerate(content["provenance"]["metrics"].values()):
            specs = (f"{MODULE}:Metric", f"bertscore_f1(model={FOLDER}/model)")
            metric["spec"] = specs[number] if number < len(specs) else metric["spec"]
        if content.pop(checksums.KEY, None):
            content = checksums.add_checksum(content)
        file.write_text(json.dumps(content), "utf-8")
    (folder / "sums.json").unlink()
    return folder


def test_no_verb_on_a_stored_run_imports_opens_or_asks_what_the_run_names(
    project, stranger, cli, events
):
    run = stranger
    verbs = [
        ("report", run),
        ("score", run),
        ("compare", "main", run),
        ("gate", run),
        ("gate", run, "--baseline", "main"),
        ("history", run.parent),
        ("history", run.parent, "-m", "token_f1"),
        ("rate", run),
        ("pool", run, "-o", "pool.jsonl"),
        *(("export", form, run, "-o", f"out.{form}") for form in ("csv", "trec", "triplets")),
        ("baseline", "show"),
        ("baseline", "ls"),
        ("baseline", "set", run, "--name", "other"),
        ("cache", "ls"),
        ("score", run, "-m", "faithfulness"),
        ("score", run, "-m", "exact_match"),
        ("report", run),
    ]
    replies = {verb: cli(*verb) for verb in verbs}

    assert events, "nothing was watched"
    assert [verb for verb, reply in replies.items() if "Traceback" in reply.err] == []
    assert [event for event in events if FOLDER in event[1] or MODULE in event[1]] == []
    assert [event for event in events if event[0] == "socket.connect"] == []
    refused = {verb[0] for verb, reply in replies.items() if reply.status == 2}
    assert refused == {"score", "gate"}
