"""Runs by the command line, on a cluster or on one machine, and what they came to."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.ray_cluster import RayCluster

PATIENCE = 300


def begun(
    folder: Path, *options: str, env: RayCluster | Mapping[str, str] | None = None
) -> subprocess.Popen:
    """Start `run config.yaml` in a folder."""
    given = env.environment if isinstance(env, RayCluster) else env or {}
    return subprocess.Popen(
        [sys.executable, "-m", "harness", "run", "config.yaml", *options],
        cwd=folder,
        env={**os.environ, "HF_HUB_OFFLINE": "1", **given},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(folder: Path, *options: str, env: RayCluster | Mapping[str, str] | None = None) -> str:
    """Run to the end, and return what it says."""
    run = begun(folder, *options, env=env)
    out, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, err
    return out + err


def stored(output: Path) -> Any:
    """Return the `run.json` of the only run there."""
    (path,) = output.glob("2*/run.json")
    return json.loads(path.read_text("utf-8"))


def records(output: Path) -> list[Any]:
    """Return every record of the only run there, but for the times it took."""
    (path,) = output.glob("2*/records.jsonl")
    return [_timeless(json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def scores(output: Path) -> Any:
    """Return all that a run came to, but for times and what says where it was made."""
    run = _timeless(stored(output))
    return {key: each for key, each in run.items() if key not in _OWN}


_OWN = {"id", "started", "ended", "config", "cache", "ran"}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(each) for key, each in value.items() if "second" not in key}
    return [_timeless(each) for each in value] if isinstance(value, list) else value
