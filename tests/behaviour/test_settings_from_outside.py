"""Settings of the command line and the environment, new projects, and keys that nobody writes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.behaviour.golden import check_numbers, check_text, run_numbers
from tests.behaviour.processes_of_runs import finish, start
from tests.behaviour.servers import rows, serving

RUN = ("run", "config.yaml")
SECRET = "canary-4711-do-not-store"


def cells(reply) -> list[str]:
    assert reply.status == 0, reply
    return [cell["name"] for cell in json.loads(reply.out)["cells"]]


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    project, cli, monkeypatch
):
    monkeypatch.setenv("HARNESS_RETRIEVERS", "[bm25, dense]")
    monkeypatch.setenv("HARNESS_OUTPUT", "elsewhere")

    there = json.loads(cli(*RUN, "--json").out)
    here = cli(*RUN, "--set", "retrievers=bm25", "--set", "chunkers=[whole, sentence]", "--json")

    assert [cell["retriever"] for cell in there["cells"]] == ["bm25", "dense"]
    assert there["run"].startswith("elsewhere/")
    assert cells(here) == ["whole × bm25 × extractive", "sentence × bm25 × extractive"]


def test_a_dotted_key_changes_one_value_below_another(project, cli):
    project.config(context={"chunks": 2, "tokens": 700})

    reply = cli(*RUN, "--set", "context.chunks=1", "--json")

    folder = project.folder / json.loads(reply.out)["run"]
    config = (folder / "report.md").read_text("utf-8")
    assert "context: {chunks: 1, tokens: 700}" in config


@pytest.mark.parametrize("key", ["retrieve", "context.tokens", "gate", "baseline", "seed"])
def test_null_unsets_any_key_in_the_file_and_on_the_command_line(project, cli, key):
    project.config(context={"chunks": 2, "tokens": 700}, seed=None, baseline=None)

    assert cli("validate", "config.yaml", "--set", f"{key}=null").status == 0
    assert "did you mean" in cli("validate", "config.yaml", "--set", f"{key}s=null").err


def test_limit_asks_the_first_and_a_seeded_sample_always_the_same(project, cli):
    def asked(*options: str) -> list[str]:
        reply = cli(*RUN, *options, "--json")
        assert reply.status == 0, reply
        folder = project.folder / json.loads(reply.out)["run"]
        return [row["question"] for row in rows(folder / "records.jsonl")]

    assert asked("--limit", "2") == ["q1", "q2"]
    sample = asked("--sample", "2", "--sample-seed", "3")
    assert len(sample) == 2
    assert asked("--sample", "2", "--sample-seed", "3") == sample
    assert asked("--sample", "2", "--sample-seed", "date", "--limit", "2") == ["q1", "q2"]
    check_numbers("sample", [sample, asked("--sample", "1", "--sample-seed", "5")])


def test_a_variable_in_a_path_is_replaced(project, cli, monkeypatch):
    monkeypatch.setenv("DATA", "corpus")
    project.config(corpus="${DATA}")

    assert "corpus: 2 documents" in cli("validate", "config.yaml").out


def test_init_writes_a_project_that_runs_as_it_is(tmp_path, monkeypatch, cli):
    monkeypatch.chdir(tmp_path)
    reply = cli("init", "demo")
    files = sorted(str(path) for path in Path("demo").rglob("*") if path.is_file())
    contents = [Path(path).read_bytes() for path in files]

    assert reply.status == 0
    assert {"demo/config.yaml", "demo/testset.jsonl"} < set(files)
    assert all(path in reply.out for path in files)
    assert cli("init", "demo").status == 2
    assert [Path(path).read_bytes() for path in files] == contents
    assert cli("validate", "demo/config.yaml").status == 0
    run = cli("run", "demo/config.yaml", "--set", "index.exact=true", "--json")
    assert run.status == 0
    check_text("init", reply.out)
    check_numbers("init", run_numbers(Path(json.loads(run.out)["run"]), hits=False)["cells"])


def test_no_verb_but_run_needs_the_network_and_help_and_versions_are_answered(cli):
    for command in (["--help"], ["--version"], ["run", "--help"], ["list"], ["schema"]):
        reply = cli(*command)
        assert (reply.status, reply.err) == (0, "")
    assert set(json.loads(cli("schema").out)["properties"]) >= {"corpus", "testset", "metrics"}


def replaced(folder: Path, old: str, new: str) -> None:
    """Put another text in the place of one in a stored run, as a stranger could."""
    assert old in (folder / "run.json").read_text("utf-8")
    for path in [folder / "run.json", *folder.glob("*.jsonl")]:
        path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    (folder / "sums.json").unlink(missing_ok=True)


def test_a_stored_run_does_not_choose_whom_keys_are_sent_to(project, cli, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with serving() as server:
        project.config(judge=server.settings(), metrics=["faithfulness", "token_f1"])
        reply = cli(*RUN, "--json")
        assert reply.status == 0, reply
        folder = project.folder / json.loads(reply.out)["run"]
        replaced(folder, server.url, "http://192.0.2.1/v1")

        refused = cli("score", folder, "-m", "answer_relevance")

        assert refused.status == 2
        assert "192.0.2.1" in refused.err
        assert "--judge" in refused.err
        assert cli("score", folder, "-m", "exact_match").status == 0
        typed = json.dumps(server.settings())
        assert cli("score", folder, "-m", "answer_relevance", "--judge", typed).status == 0


def test_a_stored_run_names_no_file_that_is_read(project, cli):
    """Neither the file of a judge, nor the folder of a metric's model, nor a baseline's file."""
    reply = cli(*RUN, "--json")
    assert reply.status == 0, reply
    folder = project.folder / json.loads(reply.out)["run"]
    assert cli("baseline", "set", folder).status == 0
    content = json.loads((folder / "run.json").read_text("utf-8"))
    rule = {"metric": "token_f1", "drop_more_than": 0.1}
    content["config"]["resolved"]["gate"] = {"fail_if": [rule], "baseline": "baselines/main.json"}
    content["config"]["resolved"]["judge"] = {"model": "gguf:model/judge.gguf"}
    weights = "0.5*token_f1 + 0.5*semantic_similarity(model=corpus)"
    content["provenance"]["metrics"]["token_f1"]["spec"] = f"composite(weights={weights})"
    (folder / "run.json").write_text(json.dumps(content), "utf-8")
    (folder / "sums.json").unlink()

    scored = cli("score", folder)
    judged = cli("score", folder, "-m", "faithfulness")
    gated = cli("gate", folder)

    assert [scored.status, judged.status, gated.status] == [2, 2, 2]
    assert "the model of semantic_similarity is a folder, 'corpus'" in scored.err
    assert "name the metrics: -m METRIC" in scored.err
    assert "its judge is a file, 'gguf:judge.gguf'" in judged.err
    assert "name it again: --judge gguf:PATH" in judged.err
    assert "its gate's baseline is a file, 'baselines/main.json'" in gated.err
    assert "is a file" not in cli("gate", folder, "--baseline", "baselines/main.json").err
    assert cli("score", folder, "-m", "token_f1").status == 0
    assert cli("report", folder).status == 0


def test_neither_a_baseline_nor_a_test_set_names_code_that_runs(project, cli, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(project.folder)])
    marking = "open('imported', 'w').close()\ndef ask(question):\n    return [], 'x'\n"
    (project.folder / "canary_4715.py").write_text(marking, "utf-8")
    named = {"python": "canary_4715:ask"}
    reply = cli(*RUN, "--json")
    assert cli("baseline", "set", json.loads(reply.out)["run"]).status == 0
    file = project.folder / "baselines" / "main.json"
    content = json.loads(file.read_text("utf-8"))
    for settings in content["config"].values():
        if isinstance(settings, dict):
            settings |= {"system": named, "embedders": [{"langchain": {"cls": "canary_4715:ask"}}]}
    file.write_text(json.dumps(content), "utf-8")
    for command in (["baseline", "show"], ["compare", "main", json.loads(reply.out)["run"]]):
        assert "Traceback" not in cli(*command).err
    lines = rows(project.folder / "testset.jsonl")
    project.testset(*({**line, "system": named, "cls": "canary_4715:ask"} for line in lines))
    refused = cli(*RUN)

    assert refused.status == 2
    assert "system" in refused.err
    assert not (project.folder / "imported").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_output_that_cannot_be_written_is_said(project):
    with open("/dev/full", "w") as full:
        process = start(project.folder, "--version", stdout=full)
        status, _, err = finish(process)

    assert status == 3
    assert "No space left on device" in err
