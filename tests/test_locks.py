"""Locks on folders: between processes, and when one of them is killed."""

import threading

import pytest

from harness import locks
from tests.processes import kill, running

HOLD = """
import sys
from pathlib import Path
from harness import locks
lock = getattr(locks, sys.argv[1])(Path(sys.argv[2]))
print("none" if lock is None else "held")
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    made.mkdir()
    return made


def alone(folder):
    lock = locks.alone(folder)
    if lock is not None:
        lock.release()
    return lock is not None


def test_many_may_share_a_folder_and_none_of_them_is_alone(folder):
    first, second = locks.shared(folder), locks.shared(folder)

    assert not alone(folder)
    first.release()
    assert not alone(folder)
    second.release()
    assert alone(folder)


def test_nobody_is_alone_with_a_folder_that_another_process_shares(folder):
    with running(HOLD, "shared", folder):
        assert not alone(folder)
        shared = locks.shared(folder)
        shared.release()
    assert alone(folder)


def test_a_killed_process_lets_go(folder):
    with running(HOLD, "alone", folder) as process:
        assert not alone(folder)
        kill(process)
        assert alone(folder)


def test_what_is_not_there_cannot_be_locked(tmp_path):
    (tmp_path / "file").write_text("")

    for path in (tmp_path / "none", tmp_path / "file" / "below"):
        assert locks.shared(path) is None
        assert locks.alone(path) is None


def test_who_waits_for_a_folder_that_is_then_deleted_is_told_that_it_is_not_there(folder):
    deleting = locks.alone(folder)
    found = []
    waiting = threading.Thread(target=lambda: found.append(locks.shared(folder)))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()

    folder.rename(folder.with_name("hidden"))
    deleting.release()
    waiting.join(10)

    assert found == [None]


def test_who_waits_for_a_folder_that_is_replaced_gets_the_new_one(folder):
    deleting = locks.alone(folder)
    found = []
    waiting = threading.Thread(target=lambda: found.append(locks.shared(folder)))
    waiting.start()
    waiting.join(0.2)

    folder.rename(folder.with_name("hidden"))
    folder.mkdir()
    deleting.release()
    waiting.join(10)

    assert found[0].is_on(folder)
    assert not alone(folder)
    found[0].release()


def test_a_lock_knows_whether_its_folder_still_has_its_name(folder):
    lock = locks.shared(folder)

    assert lock.is_on(folder)
    folder.rename(folder.with_name("hidden"))
    assert not lock.is_on(folder)
    folder.mkdir()
    assert not lock.is_on(folder)
    assert lock.is_on(folder.with_name("hidden"))
    lock.release()
