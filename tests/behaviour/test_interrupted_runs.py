"""A run that was killed or interrupted is continued by the same command, to the same records."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.behaviour.golden import run_folder
from tests.behaviour.processes_of_runs import finish, start, stored, write_prices
from tests.behaviour.servers import serving

RUN = ("run", "config.yaml")


def means(run: dict) -> list:
    return [[cell["name"], cell["scores"]] for cell in run["cells"]]


def files(folder: Path) -> list[str]:
    """Return the names of the files of the newest stored run, charts included."""
    run = run_folder(folder)
    return sorted(path.relative_to(run).as_posix() for path in run.rglob("*"))


@pytest.fixture(scope="module")
def calm(tmp_path_factory) -> tuple[Path, float]:
    """Return a project in which two runs at once shared a cache, and the seconds they took."""
    folder = tmp_path_factory.mktemp("calm")
    write_prices(folder)
    clock = time.perf_counter()
    ends = [finish(process) for process in [start(folder, *RUN), start(folder, *RUN)]]
    seconds = time.perf_counter() - clock
    assert [status for status, _, _ in ends] == [0, 0]
    warnings = [line for _, _, err in ends for line in err.splitlines() if "warning" in line]
    assert [line[:21] for line in warnings] == ["warning: 24 questions"] * 2  # they are few
    return folder, seconds


def test_two_runs_that_share_a_cache_at_once_come_to_the_same_records(calm):
    (run, records), (other, other_records) = stored(calm[0])

    assert run["status"] == other["status"] == "finished"
    assert records == other_records
    assert means(run) == means(other)
    assert len(records) == 6 * 24
    assert sum(bool(record["hits"]) for record in records) == 6 * 24


def test_a_run_killed_at_four_instants_ends_with_the_records_of_an_undisturbed_one(calm, tmp_path):
    folder, whole = calm
    chance = random.Random(7)
    instants = [(quarter + chance.random()) / 4 for quarter in range(4)]

    with ThreadPoolExecutor() as lanes:  # every other instant in each of two projects
        harried = [tmp_path / "one", tmp_path / "other"]
        halves = [instants[::2], instants[1::2]]
        done = lanes.map(kill_often, harried, [folder] * 2, [whole] * 2, halves)

        assert sum(done) == 4


def kill_often(harried: Path, calm: Path, whole: float, instants: list[float]) -> int:
    """Kill a run at instants, parts of a `whole` run, and let it finish; return the kills."""
    write_prices(harried)
    kills = 0
    while kills < len(instants):
        anew = not (harried / "reports").exists()
        clock = time.perf_counter()
        process = start(harried, *RUN)
        try:
            process.wait(whole * instants[kills])
        except subprocess.TimeoutExpired:
            process.kill()
            kills += 1
        else:  # what the kills before left took less time than that
            compare(calm, harried)
            shutil.rmtree(harried / "reports")
            shutil.rmtree(harried / ".harness")
            if anew:
                whole = min(whole, time.perf_counter() - clock) * 0.9
        finish(process)
    assert finish(start(harried, *RUN))[0] == 0
    compare(calm, harried)
    return kills


def compare(calm: Path, harried: Path) -> None:
    """Hold each run below a folder against that of another: none may be left unfinished.

    There are two where a kill fell into the moment after the run was whole.
    """
    expected, expected_records = stored(calm)[0]
    names = files(calm)
    runs = stored(harried)
    assert runs
    for run, records in runs:
        assert run["status"] == "finished"
        assert records == expected_records
        assert means(run) == means(expected)
    assert files(harried) == names


@pytest.fixture
def waiting():
    """Serve a chat model that answers 32 times, and then keeps its caller waiting.

    Gives the server, an event that is set when somebody waits, and one that lets it answer.
    """
    reached, released = threading.Event(), threading.Event()

    def say(prompt: str) -> str:
        if len(server.requests) > 32:
            reached.set()
            released.wait(60)
        return "I don't know."

    with serving(say) as server:
        try:
            yield server, reached, released
        finally:
            released.set()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_a_signal_ends_a_run_with_130_and_the_same_command_asks_only_what_is_missing(
    project, cli, monkeypatch, waiting, number
):
    server, reached, released = waiting
    rows = [{"id": f"q{n}", "question": f"Moon {n}?", "documents": ["moon.md"]} for n in range(40)]
    project.testset(*rows)
    project.config(
        generators=["chat"],
        chat=server.settings("gpt-test", concurrent=1),
        retrievers=["bm25"],
        metrics=["recall@2", "abstention"],
    )
    process = start(project.folder, *RUN)
    assert reached.wait(60)
    process.send_signal(number)
    status, out, err = finish(process)
    ((run, records),) = stored(project.folder)

    assert (status, out) == (130, "")
    assert "Traceback" not in err
    assert "the same command continues" in err.splitlines()[-1]
    assert run["status"] == "interrupted"
    assert [record["question"] for record in records] == [f"q{n}" for n in range(32)]
    assert run["cells"][0]["scores"]["recall@2"]["n"] == 32

    released.set()
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert cli(*RUN).status == 0
    ((again, records),) = stored(project.folder)

    assert (again["id"], again["status"]) == (run["id"], "finished")
    assert [record["question"] for record in records] == [f"q{n}" for n in range(40)]
    assert len(server.requests) == 41  # the one in flight was asked again
    assert len(set(server.prompts)) == 40


def test_fresh_makes_everything_anew(project, cli):
    project.config(index={"exact": True})
    runs = [cli(*RUN, "--json"), cli(*RUN, "--json"), cli(*RUN, "--fresh", "--json")]

    counts = [made(project, json.loads(reply.out)["run"]) for reply in runs]

    assert counts[0] > 0
    assert counts == [counts[0], 0, counts[0]]


def made(project, folder: str) -> int:
    """Return how many things a run made, and did not find in the cache."""
    run = json.loads((project.folder / folder / "run.json").read_text("utf-8"))
    return sum(count["made"] for count in run["cache"].values())
