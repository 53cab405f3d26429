"""Faults of the machine: said with place, fact and remedy, and status 3."""

import errno
import os
import subprocess
import sys

import pytest

from harness import __version__
from harness.cli import machine_faults

CODE = "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, ({}, {}));"
CODE += "from harness.cli import main; main()"


def called(soft, hard, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(soft, hard), *arguments],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_too_few_file_handles_for_a_run_are_said_before_anything_is_begun(tmp_path):
    pytest.importorskip("resource")

    assert called(200, 200, "run", tmp_path / "none.yaml") == (
        3,
        "",
        "only 200 files may be open at a time, and 256 are needed\n  allow more: ulimit -n 4096\n",
    )


def test_verbs_that_run_nothing_need_few_file_handles():
    pytest.importorskip("resource")

    assert called(24, 24, "--version") == (0, f"{__version__}\n", "")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "reports/x"),
            "'reports/x': No space left on device\n  make room, and give the same command again",
        ),
        (
            OSError(errno.EMFILE, "Too many open files"),
            "Too many open files\n"
            "  allow more with `ulimit -n 4096`, and give the same command again",
        ),
        (
            OSError(errno.EISDIR, "Is a directory", ".report.md-abc", None, "report.md"),
            "'report.md': Is a directory\n  move that folder out of the way",
        ),
        (
            MemoryError(),
            "there is no memory left\n"
            "  end other programs or take less at a time, and give the same command again",
        ),
        (ValueError("a bug"), None),
        (OSError("a bug"), None),
    ],
)
def test_what_the_machine_lacks_is_said_with_a_remedy_and_a_bug_keeps_its_traceback(error, said):
    assert machine_faults.describe(error) == said


def test_a_report_that_a_folder_lies_in_the_place_of_says_which(cli, tmp_path):
    from tests.support import small

    run = small.stored(tmp_path, chunkers=["markdown"], retrievers=["bm25"]).folder
    (run / "report.md").unlink()
    os.mkdir(run / "report.md")
    said = cli("report", run)

    assert (said.status, said.err) == (
        3,
        f"'{run / 'report.md'}': Is a directory\n  move that folder out of the way\n",
    )
