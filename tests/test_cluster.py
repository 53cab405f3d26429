"""A run on a Ray cluster: the same numbers as on one machine, whatever dies on the way."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.config import load
from harness.errors import ConfigError, MissingExtra
from harness.execution import OnRay
from tests.cluster_runs import begun, finished, records, scores, stored
from tests.ray_cluster import ray_cluster

QUICK_START = Path(__file__).parent.parent / "config.yaml"
PATIENCE = 240


def quick_start(folder: Path, **changes) -> Path:
    """Write the quick start's configuration with some keys changed."""
    settings = yaml.safe_load(QUICK_START.read_text("utf-8")) | changes
    for key in ("corpus", "testset"):
        settings[key] = str(QUICK_START.parent / settings[key])
    settings["metrics"] = [each for each in settings["metrics"] if each != "bertscore_f1"]
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False), "utf-8")
    return path


def test_a_cluster_of_two_machines_one_of_which_dies_gives_what_one_machine_gives(tmp_path):
    quick_start(tmp_path, embedders=["hashing"], chunkers=["markdown"])
    finished(tmp_path, "--limit", "16", "--set", "output=alone", "--set", "cache=one")

    with ray_cluster("second") as cluster:
        scratch = ("--set", f"execution.ray.scratch={tmp_path}/scratch")
        on_it = ("--set", f"execution.ray.address={cluster.address}", *scratch)
        unshared = begun(tmp_path, *on_it, "--set", "execution.ray.store=memory://x", env=cluster)
        out, err = unshared.communicate(timeout=PATIENCE)
        assert (unshared.returncode, out) == (3, "")
        assert "nothing was spent" in err
        for name in ("head", "second"):
            assert f"{name}: the store 'memory://x' is not shared: what the run put there" in err
        run = begun(tmp_path, "--limit", "16", *on_it, "--set", "output=together", env=cluster)
        for line in run.stderr:
            if "on the cluster" in line:
                cluster.stop("second", signal.SIGKILL)
                break
        out, err = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0, err

    assert scores(tmp_path / "together") == scores(tmp_path / "alone")
    assert records(tmp_path / "together") == records(tmp_path / "alone")
    assert len(records(tmp_path / "together")) == 3 * 16
    ran = stored(tmp_path / "together")["ran"]
    assert {each["node"] for each in ran} >= {"head", "the run's own machine"}
    assert {each["stage"] for each in ran} >= {"retrieval", "scoring", "indexing", "attribution"}
    assert stored(tmp_path / "alone")["ran"] == []
    assert stored(tmp_path / "together")["cache"]["rankings"] == {"made": 0, "reused": 48}


def test_a_ray_of_its_own_embeds_with_a_real_model_as_one_machine_does(project):
    same = {"runtime": "torch", "precision": "float32"}  # not what is fastest at this moment
    project.config(
        embedders=[{"sentence_transformer": same}],
        retrievers=["dense"],
        rerankers=["none", {"bi_encoder": {"embedder": {"sentence_transformer": same}}}],
    )
    finished(Path(), "--set", "output=alone", "--set", "cache=one")
    environment = {key: each for key, each in os.environ.items() if not key.startswith("RAY_")}
    (Path() / "home").mkdir()
    environment["HOME"] = str(Path("home").resolve())

    ray = {"address": "local", "scratch": str(Path("scratch").resolve())}
    project.config(execution={"ray": ray}, output="ray")
    finished(Path(), env=environment)

    assert scores(Path("ray")) == scores(Path("alone"))
    assert records(Path("ray")) == records(Path("alone"))
    stages = {each["stage"] for each in stored(Path("ray"))["ran"]}
    assert stages >= {"embedding", "indexing", "retrieval", "reranking", "scoring"}
    assert stored(Path("ray"))["cache"]["rankings"]["made"] == 0
    assert not Path("home", ".ray").exists()


def test_an_address_that_nobody_answers_is_named_before_anything_is_done(project, cli):
    project.config(execution={"ray": {"address": "127.0.0.1:9"}})

    said = cli("run", "config.yaml")

    assert (said.status, said.out) == (3, "")
    assert said.err.splitlines()[-2:] == [
        "execution: no Ray cluster answers at 127.0.0.1:9: Connection refused",
        "  is it the address that `ray start --head` showed, and may this machine reach it?",
    ]


@pytest.mark.parametrize("given", ["cluster", "10.0.0.5", "10.0.0.5:0", "10.0.0.5:70000", "a b:1"])
def test_an_address_that_is_none_is_refused(project, given):
    project.config(execution={"ray": {"address": given}})

    with pytest.raises(ConfigError, match=r"write local, auto or HOST:PORT"):
        load(Path("config.yaml"))


def test_a_secret_in_the_address_of_the_store_is_refused(project):
    project.config(execution={"ray": {"address": "auto", "store": "s3://me:hidden@bucket/runs"}})

    with pytest.raises(ConfigError, match="no file holds a secret") as error:
        load(Path("config.yaml"))
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize("given", ["local", None])
def test_without_a_cluster_the_work_is_done_in_this_process(project, given):
    project.config(execution=given)

    assert load(Path("config.yaml")).settings.execution is None


def test_a_cluster_can_be_named_on_the_command_line(project):
    project.config()

    found = load(Path("config.yaml"), ["execution.ray.address=auto"]).settings.execution
    assert found is not None
    assert found.ray == OnRay("auto")


def test_where_ray_is_not_installed_the_extra_is_named(project, monkeypatch):
    from harness.cluster.connecting import imported

    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(MissingExtra, match=r"ray\n  pip install 'rag-eval-harness\[ray\]'"):
        imported()


def test_validating_and_listing_load_neither_ray_nor_fsspec(project):
    project.config(execution={"ray": {"address": "local"}})
    code = (
        "import sys; from harness.cli import main\n"
        "try:\n    main(['validate', 'config.yaml'])\nfinally:\n"
        "    print(json.dumps([n for n in ('ray', 'fsspec') if n in sys.modules]))"
    )

    said = subprocess.run(
        [sys.executable, "-c", "import json; " + code], capture_output=True, text=True, check=False
    )

    assert json.loads(said.stdout.splitlines()[-1]) == [], said.stderr
