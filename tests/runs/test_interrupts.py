"""Signals, standard streams and leftovers: a process ends in order, whenever it is ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import report
from harness.cli import machine_faults
from harness.errors import RunError
from harness.report.charts import svg
from harness.runs import interrupts
from tests.support import small

HERE = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def shell(folder, command):
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; '{sys.executable}' -m harness {command}"],
        cwd=folder, env=HERE, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_a_signal_while_little_is_loaded_ends_with_130_and_no_traceback(sent):
    # A process that was started in the background of a shell would not hear of SIGINT.
    code = f"import signal; signal.signal({int(sent)}, signal.SIG_DFL);"
    code += "from harness.runs import interrupts; interrupts.install();"
    code += f"signal.raise_signal({int(sent)})"
    done = subprocess.run(
        [sys.executable, "-c", code], env=HERE, capture_output=True, timeout=60, check=False
    )

    assert (done.returncode, done.stderr) == (130, b"interrupted\n")


def test_an_end_as_interrupted_has_its_status_whatever_code_the_signal_fell_into():
    code = (
        "import signal\nfrom harness.runs import interrupts\ninterrupts.install()\n"
        "interrupts.raise_interrupts()\n"
        "try: eval('signal.raise_signal(signal.SIGTERM)')\n"
        "except KeyboardInterrupt: interrupts.end_in_order()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=HERE, capture_output=True, timeout=60, check=False
    )

    assert (done.returncode, done.stderr) == (130, b"")


def test_a_signal_in_the_midst_of_a_step_waits_until_it_is_whole():
    before = signal.getsignal(signal.SIGINT)
    steps = []

    def step():
        with interrupts.defer():
            signal.raise_signal(signal.SIGINT)
            steps.append("whole")

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with pytest.raises(KeyboardInterrupt):
            step()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)

    assert steps == ["whole"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_output_that_cannot_be_written_is_said_and_what_nobody_reads_is_let_go(tmp_path):
    assert shell(tmp_path, "--version >/dev/full") == (
        3,
        "",
        "'standard output': No space left on device\n"
        "  make room, and give the same command again\n",
    )
    assert shell(tmp_path, "--version >&- 2>&- <&-") == (0, "", "")
    assert shell(tmp_path, "--version | true") == (0, "", "")
    assert shell(tmp_path, "validate nothing.yaml 2>/dev/full") == (2, "", "")


def test_charts_without_room_for_what_draws_them_are_said_before_it_ends_the_process():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (71 << 30, before[1]))
    try:
        with pytest.raises(RunError) as caught:
            svg.check_memory()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)

    assert str(caught.value) == (
        "only 72,704 MB of memory may be reserved, and what draws the charts reserves "
        "73,728 MB, of which it uses few\n  allow more: ulimit -v unlimited"
    )


def test_what_a_kill_left_of_a_report_is_deleted_once_nobody_can_be_writing_it(tmp_path):
    run = small.stored(tmp_path, chunkers=["markdown"], retrievers=["bm25"]).folder
    old = [run / ".report.html-abcdefgh", run / "charts" / ".a.svg-abcdefgh"]
    new = run / ".report.md-abcdefgh"
    (run / "charts").mkdir(exist_ok=True)
    for path in (*old, new):
        path.write_text("half")
    for path in old:
        os.utime(path, (1e9, 1e9))

    report.write(run)

    assert [path.exists() for path in (*old, new)] == [False, False, True]


def test_threads_that_cannot_be_started_are_said_with_a_remedy():
    assert machine_faults.describe(RuntimeError("can't start new thread")) == (
        "no more threads can be started\n"
        "  allow more (ulimit -u) or end other programs, and give the same command again"
    )
