"""A disk that is full: the run ends in order, keeps what was done, and is continued with room."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from harness import api
from harness.config.run_config import load
from harness.runs import runner
from tests.support import disks, small

CODE = "import sys; from harness.cli import main; sys.exit(main())"


def run(folder, cache, output):
    """Run the project in a process of its own; returns its status, stdout and stderr."""
    command = [sys.executable, "-c", CODE, "run", "config.yaml"]
    command += ["--set", f"cache={cache}", "--set", f"output={output}"]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ,
    )
    return done.returncode, done.stdout, done.stderr


def calmly(folder, cache, output):
    """Do the same in this process, where there is room."""
    places = [f"cache={cache}", f"output={output}"]
    api.run(runner.prepare(load(folder / "config.yaml", places, {})), lambda *_: None)


@pytest.mark.parametrize("exact", [True, False])
def test_an_index_that_has_no_room_ends_the_run_without_a_traceback(tmp_path, exact):
    small.project(tmp_path, chunkers=["sentence"], index={"exact": exact})
    # 1,000 chunks of 384 numbers are 1.5 MB.
    words = [f"The station {n} was built by company {n * 7}." for n in range(1_000)]
    (tmp_path / "corpus" / "long.md").write_text("\n\n".join(w * 20 for w in words), "utf-8")
    with disks.small(tmp_path / "disk") as disk:
        status, _, err = run(tmp_path, disk / "cache", tmp_path / "reports")

    assert status == 3, err
    assert "Traceback" not in err
    assert "full" in err or "space" in err


def test_a_cache_without_room_for_rows_is_gone_on_without_and_warned_of(tmp_path):
    small.project(tmp_path, retrievers=["bm25"], chunkers=["sentence"])
    with disks.small(tmp_path / "disk") as disk:
        calmly(tmp_path, disk / "cache", tmp_path / "first")
        shutil.rmtree(disk / "cache" / "answers")
        disks.fill(disk)
        status, _, err = run(tmp_path, disk / "cache", tmp_path / "second")

    assert status == 0, err
    (first,), (second,) = ((tmp_path / name).glob("*/run.json") for name in ("first", "second"))
    first, second = json.loads(first.read_text()), json.loads(second.read_text())
    assert second["cells"][0]["scores"] == first["cells"][0]["scores"]
    assert any("answers" in warning for warning in second["warnings"]), second["warnings"]


def test_a_report_folder_without_room_ends_the_run_and_the_same_command_continues_it(tmp_path):
    small.project(tmp_path)
    calmly(tmp_path, tmp_path / "calm", tmp_path / "reports")
    with disks.small(tmp_path / "disk") as disk:
        output = disk / "reports"
        output.mkdir()
        disks.fill(disk)
        status, _, err = run(tmp_path, tmp_path / "cache", output)
        assert status in (2, 3), err
        assert "Traceback" not in err
        (disk / "filling").unlink()
        status, _, err = run(tmp_path, tmp_path / "cache", output)
        assert status == 0, err
        (folder,) = output.glob("*/")
        records = without_times(folder)
    (other,) = (tmp_path / "reports").glob("*/")
    assert records == without_times(other)


def without_times(folder):
    rows = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]
