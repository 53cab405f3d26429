"""A run on a Ray cluster: the same numbers as on one machine, whatever dies on the way."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.config.run_config import load
from harness.errors import ConfigError, MissingExtra, RunError
from harness.preflight.machine import Fact
from harness.preflight.services import check_cluster
from harness.runs.cluster import explain_crashes
from tests.support.cluster_runs import begun, records, scores, stored
from tests.support.ray_cluster import ray_cluster

QUICK_START = Path(__file__).parents[2] / "config.yaml"
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
    quick_start(tmp_path, embedders=["wordllama"], chunkers=["markdown"])
    alone = begun(tmp_path, "--limit", "16", "--set", "output=alone", "--set", "cache=one")

    with ray_cluster("second") as cluster:
        out, err = alone.communicate(timeout=PATIENCE)
        assert alone.returncode == 0, err
        scratch = ("--set", f"execution.ray.scratch={tmp_path}/scratch")
        on_it = ("--set", f"execution.ray.address={cluster.address}", *scratch)
        unshared = begun(tmp_path, *on_it, "--set", "execution.ray.store=memory://x", env=cluster)
        out, err = unshared.communicate(timeout=PATIENCE)
        assert (unshared.returncode, out) == (3, "")
        assert "nothing was spent" in err
        for name in ("head", "second"):
            assert f"{name}: the store 'memory://x' is not shared there, shared here" in err
        run = begun(tmp_path, "--limit", "16", *on_it, "--set", "output=together", env=cluster)
        for line in run.stderr:
            assert "Warning" not in line
            if "on the cluster" in line:
                cluster.stop("second", signal.SIGKILL)
                break
        out, err = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0, err
        again = begun(tmp_path, "--limit", "16", *on_it, "--set", "output=again", env=cluster)
        out, err = again.communicate(timeout=PATIENCE)
        assert again.returncode == 0, err

    assert scores(tmp_path / "again") == scores(tmp_path / "together")
    assert stored(tmp_path / "again")["ran"] == []
    assert scores(tmp_path / "together") == scores(tmp_path / "alone")
    assert records(tmp_path / "together") == records(tmp_path / "alone")
    assert len(records(tmp_path / "together")) == 3 * 16
    ran = stored(tmp_path / "together")["ran"]
    assert {each["node"] for each in ran} >= {"head", "the run's own machine"}
    stages = {"embedding", "indexing", "retrieval", "scoring", "attribution"}
    assert {each["stage"] for each in ran} >= stages
    assert stored(tmp_path / "alone")["ran"] == []
    counts = stored(tmp_path / "together")["cache"]
    assert counts["rankings"] == {"made": 0, "reused": 48}
    assert {kind for kind, each in counts.items() if each["made"]} == set()
    assert list((tmp_path / "cache" / "shared").glob("canary*")) == []


def test_a_death_is_told_in_words_and_a_fault_of_the_harness_keeps_its_traceback():
    from ray.exceptions import NodeDiedError, RayTaskError

    with pytest.raises(RunError) as died, explain_crashes("embedding"):
        raise NodeDiedError("the node is gone\nand more")
    assert str(died.value).splitlines()[0] == (
        "embedding: a process of the cluster died each time it was tried: the node is gone"
    )
    fault = RayTaskError("made", "Traceback: in line 7", ValueError("odd"))
    with pytest.raises(RayTaskError, match="Traceback: in line 7"), explain_crashes("embedding"):
        raise fault


@pytest.fixture
def no_ray_runs_here(monkeypatch, tmp_path):
    """Hide every Ray of this machine, but for what is started from now on."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setattr("ray._private.services.find_gcs_addresses", set)


NONE_FOUND = (
    "execution: no Ray cluster was found: RAY_ADDRESS is not set, and none runs on this machine"
)
ADDRESS_REMEDY = "name one, `address: HOST:PORT`, or start one of this run's own: `address: local`"


@pytest.mark.usefixtures("no_ray_runs_here")
@pytest.mark.parametrize(
    ("address", "fact"),
    [
        ("auto", Fact("problem", NONE_FOUND, ADDRESS_REMEDY)),
        ("local", Fact("ok", "work is done on a Ray that the run starts itself")),
        (
            "127.0.0.1:9",
            Fact(
                "problem",
                "execution: no Ray cluster answers at 127.0.0.1:9: Connection refused",
                "is it the address that `ray start --head` showed, and may this machine reach it?",
            ),
        ),
    ],
)
def test_doctor_looks_for_the_cluster_that_is_named(project, address, fact):
    project.config(execution={"ray": {"address": address}})

    assert list(check_cluster(load(Path("config.yaml")))) == [fact]


@pytest.mark.parametrize("fresh", [(), ("--fresh",)])
def test_an_address_that_nobody_answers_is_named_before_anything_is_done(project, cli, fresh):
    project.config(execution={"ray": {"address": "127.0.0.1:9"}})

    said = cli("run", "config.yaml", *fresh)

    assert list(Path("cache", "shared").glob("fresh-*")) == []
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


def test_where_ray_is_not_installed_the_extra_is_named(project, monkeypatch):
    from harness.runs.cluster import import_ray

    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(MissingExtra, match=r"ray\n  pip install 'fsspec>=2024\.6' 'ray>=2\.53,<3'"):
        import_ray()


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
