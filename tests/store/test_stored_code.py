"""Code runs only where the configuration that a person passed names it."""

import ast
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from harness import user_code
from harness.chunkers import chunkers
from harness.config.run_config import load
from harness.embedders import embedders
from harness.errors import ConfigError
from harness.rerankers import rerankers
from harness.systems import systems
from tests.support import small

ROOT = Path(__file__).parents[2]
CANARY = "from pathlib import Path\nPath({mark!r}).write_text('ran')\ndef app(q): return 'x'\n"
SYSTEMS = [{"python": {"function": "canary:app"}}, {"runnable": {"object": "canary:app"}}]


@pytest.fixture
def mark(tmp_path, monkeypatch) -> Path:
    """Return the file that a module `canary`, in every folder of the project, writes on import."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "canary", raising=False)
    found = tmp_path / "ran"
    (tmp_path / "canary.py").write_text(CANARY.format(mark=str(found)))
    return found


@pytest.mark.parametrize("spec", ["canary:app", "composite(weights=1.0*canary:app)"])
def test_a_metric_that_only_a_stored_run_names_is_shown_and_not_imported(spec, tmp_path, mark, cli):
    run = small.stored(tmp_path).folder
    (run / "sums.json").unlink(missing_ok=True)
    data = json.loads((run / "run.json").read_text())
    about = data["provenance"]["metrics"]
    about["token_f1"] |= {"spec": spec}
    (run / "run.json").write_text(json.dumps(data))
    verbs = [("report", run), ("compare", run), ("history", run.parent), ("baseline", "set", run)]

    for verb in verbs:
        assert "Traceback" not in cli(*verb).err, verb
    assert cli("report", run).status == 0
    refused = cli("score", run)
    assert (refused.status, "what only a stored file names is not imported" in refused.err) == (
        2,
        True,
    )
    assert not mark.exists()


def test_a_test_set_cannot_name_code(tmp_path, mark, cli):
    rows = [{**row, "system": SYSTEMS[0], "cls": "canary:app"} for row in small.QUESTIONS]
    path = small.project(tmp_path, rows)
    cli("run", path)
    assert not mark.exists()


def test_the_configuration_that_a_person_passes_may_name_code(tmp_path, mark, cli):
    small.project(tmp_path)
    settings = {"corpus": "corpus", "testset": "testset.jsonl", "system": SYSTEMS[0]}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({**settings, "metrics": ["token_f1"]}))
    cli("run", "own.yaml")
    assert mark.exists()


def test_files_beside_a_configuration_stand_in_for_no_library(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    for name in ("pyarrow.py", "markitdown.py", "my_app.py"):
        (tmp_path / name).write_text("")
    with user_code.importing(tmp_path):
        embedders.build({"langchain": {"cls": "numpy:array"}})
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize(
    ("registry", "spec"),
    [
        (systems, {"python": {"function": "my_app:ask"}}),
        (systems, {"runnable": {"object": "my_app.ask"}}),
        (embedders, {"langchain": {"cls": "my_app.inner:E"}}),
        (rerankers, "langchain(cls=my_app:E)"),
        (chunkers, {"semantic": {"embedder": {"langchain": {"cls": "my_app:E"}}}}),
        (chunkers, {"sentence": {"parent": "semantic(embedder=langchain(cls=my_app:E))"}}),
    ],
)
def test_the_folder_of_a_module_that_a_component_names_can_be_imported_from(
    registry, spec, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "my_app.py").write_text("")
    with user_code.importing(tmp_path):
        registry.build(spec)
    assert sys.path[-1] == str(tmp_path)


@pytest.mark.parametrize(
    "settings",
    [
        {"system": {"http": {"url": "https://api.example.com", "response": {"answer": "$.a"}}}},
        {"system": {"trec_run": {"path": "api.run"}}},
        {"embedders": ["hashing", "sentence_transformer(model=api/all.MiniLM)"]},
    ],
)
def test_a_name_with_a_dot_that_is_no_code_lets_nothing_be_imported(
    settings, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    small.project(tmp_path)
    (tmp_path / "api").mkdir()
    (tmp_path / "api.run").write_text("q1 Q0 fares.md 1 1.0 x\n")
    places = {"corpus": "corpus", "testset": "testset.jsonl", "metrics": ["hit_rate@1"]}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({**places, **settings}))
    with suppress(ConfigError):
        load(tmp_path / "own.yaml", environment={})
    assert str(tmp_path) not in sys.path


def test_python_m_harness_takes_no_module_from_the_working_directory(tmp_path):
    for name in ("typer", "yaml", "harness_canary"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('it was imported')")
    command = [sys.executable, "-m", "harness", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


FORBIDDEN = frozenset(
    [
        "eval",
        "exec",
        "compile",
        "__import__",
        "pickle",
        "cPickle",
        "dill",
        "joblib",
        "marshal",
        "shelve",
        "cloudpickle",
    ]
)


def test_our_code_unpickles_evaluates_and_trusts_nothing():
    files = sorted((ROOT / "harness").rglob("*.py"))
    found = [f"{path.name}: {each}" for path in files for each in untrusting(path)]
    assert len(files) > 300
    assert found == []


def untrusting(path):
    """Yield what a file imports or calls that would run what somebody else wrote."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [*(each.name for each in node.names), getattr(node, "module", None) or ""]
            yield from (name for name in names if name.split(".")[0] in FORBIDDEN)
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            given = {each.arg: ast.unparse(each.value) for each in node.keywords}
            if called in FORBIDDEN:
                yield called
            if called in ("yaml.load", "yaml.load_all"):
                yield from [called] if "Safe" not in ast.unparse(node) else []
            if called in ("yaml.unsafe_load", "yaml.full_load", "os.system", "os.popen"):
                yield called
            if called in ("np.load", "numpy.load") and given.get("allow_pickle") != "False":
                yield called
            if called == "torch.load" and given.get("weights_only") != "True":
                yield called
            for key in (
                "shell",
                "trust_remote_code",
                "allow_pickle",
                "allow_dangerous_deserialization",
            ):
                if given.get(key, "False") != "False":
                    yield f"{called}({key}=...)"
