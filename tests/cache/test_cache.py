"""The cache: kills, several processes, and damage anywhere in it."""

import json
import os
import sqlite3
import time
from functools import partial

import pytest

from harness.cache import users
from harness.cache.folders import MARK, VERSION, Cache
from harness.cache.sqlite import content_sum
from harness.errors import HarnessError
from tests.support import damage, disks
from tests.support.processes import begun, kill, running, said

ABOUT = {"chunker": {"name": "sentence", "version": 1}, "corpus": "0123456789abcdef"}
FILES = {"one.bin": b"\x01" * 700, "deep/two.txt": b"zwei\n", "empty": b""}
HALF = """
import sys, time
from pathlib import Path
from harness.cache.folders import Cache
def make(folder):
    (folder / "one.bin").write_bytes(b"1" * 700)
    print("half", folder.name)
    sys.stdin.read()
    (folder / "two.txt").write_text("2")
with Cache(Path(sys.argv[1])) as cache:
    folder = cache.folder("chunks", {"of": "all"}, make)
    assert sorted(path.name for path in folder.iterdir()) == [
        "about.json", "one.bin", "sums.json", "two.txt"
    ]
    assert cache.warnings == []
    print(folder.name)
"""
USE = """
import sys
from pathlib import Path
from harness.cache.folders import Cache
with Cache(Path(sys.argv[1])) as cache:
    folder = cache.folder("chunks", {"of": "all"}, lambda folder: None)
    print(folder.name)
    sys.stdin.read()
"""


@pytest.fixture
def quick():
    with disks.quick() as folder:
        yield folder / "cache"


def make(folder):
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)


def artefact(cache, making=make, about=ABOUT, **settings):
    """Return the folder of an artefact, and whether it had to be made."""
    before = cache.counted().get("chunks", {}).get("made", 0)
    folder = cache.folder("chunks", about, making, **settings)
    return folder, cache.counted()["chunks"]["made"] > before


def content(folder):
    """Return the files that were made in an artefact."""
    own = ("about.json", "sums.json")
    return {name: raw for name, raw in damage.files(folder).items() if name not in own}


def left(root):
    """Return what is half made, or was taken out of use and is not deleted yet."""
    return [path.name for path in root.glob(f"**/{users.HIDDEN}*")]


def checked(cache):
    """Return the warnings, none of which gives away where the cache is."""
    for text in cache.warnings:
        assert str(cache.root) not in text
        assert not any(word.strip("'\"").startswith("/") for word in text.split())
        assert text.isprintable()
    return cache.warnings


def test_an_artefact_is_made_once_and_then_found(quick):
    with Cache(quick) as cache:
        folder, made = artefact(cache)
        assert made
        assert artefact(cache) == (folder, False)
        assert cache.counted() == {"chunks": {"made": 1, "reused": 0}}
    with Cache(quick) as cache:
        assert artefact(cache) == (folder, False)
        assert cache.counted() == {"chunks": {"made": 0, "reused": 1}}
        assert cache.warnings == []

    assert content(folder) == FILES
    assert json.loads((folder / "about.json").read_text()) == ABOUT
    assert folder.relative_to(quick).parts[0] == "chunks"
    assert left(quick) == []


def test_whatever_shapes_an_artefact_gives_it_a_folder_of_its_own(quick):
    with Cache(quick) as cache:
        folders = {
            cache.folder("chunks", ABOUT, make),
            cache.folder("chunks", {**ABOUT, "corpus": "another"}, make),
            cache.folder("index", ABOUT, make),
        }
    assert len(folders) == 3


def test_a_using_run_notes_the_time(quick):
    with Cache(quick) as cache:
        folder, _ = artefact(cache)
        cache.table("vectors", bytes, ABOUT)
    for each in (folder, *(quick / "vectors").iterdir()):
        os.utime(each, (1_000, 1_000))
    with Cache(quick) as cache:
        artefact(cache)
        cache.table("vectors", bytes, ABOUT)

    for each in (folder, *(quick / "vectors").iterdir()):
        assert time.time() - each.stat().st_mtime < 60


def test_what_could_not_be_made_leaves_nothing(quick):
    def fail(folder):
        (folder / "half").write_text("")
        raise ValueError("no")

    with Cache(quick) as cache:
        with pytest.raises(ValueError, match="no"):
            artefact(cache, fail)
        assert list((quick / "chunks").iterdir()) == []
        assert artefact(cache)[1]


def test_an_artefact_whose_maker_is_killed_is_not_there_and_is_swept_away(quick):
    with running(HALF, quick) as process:
        assert len(left(quick)) == 1
        with Cache(quick):
            assert len(left(quick)) == 1, "another run must not take it from its maker"
        kill(process)

        assert [path.name for path in (quick / "chunks").iterdir()] == left(quick)
        with Cache(quick):
            assert left(quick) == []
            assert list((quick / "chunks").iterdir()) == []


def test_of_processes_that_make_the_same_all_get_a_whole_one(quick):
    makers = [begun(HALF, quick) for _ in range(3)]
    for maker in makers:
        assert maker.stdout.readline().startswith("half")
    assert len(left(quick)) == 3
    names = {said(maker).strip() for maker in makers}

    assert [path.name for path in (quick / "chunks").iterdir()] == [*names]


def test_caches_that_are_opened_while_artefacts_are_made_take_nothing_away(quick):
    code = """
import sys
from pathlib import Path
from harness.cache.folders import Cache
for number in range(60):
    with Cache(Path(sys.argv[1])) as cache:
        make = lambda folder: (folder / "file").write_text("x")
        folder = cache.folder("chunks", {"of": sys.argv[2], "number": number}, make)
        assert (folder / "file").read_text() == "x"
        assert not cache.warnings, cache.warnings
"""
    for each in [begun(code, quick, name) for name in ("a", "b", "c")]:
        said(each)

    assert len(list((quick / "chunks").iterdir())) == 180
    assert left(quick) == []


def test_nothing_that_a_live_process_uses_is_deleted(quick):
    with running(USE, quick) as process:
        (folder,) = (quick / "chunks").iterdir()
        assert not users.remove(quick, folder)
        assert folder.is_dir()
        kill(process)
        assert users.remove(quick, folder)
        assert list((quick / "chunks").iterdir()) == []


def damages(files):
    """Yield each way to damage an artefact: what it is, and what does it."""
    for name, whole in files.items():
        for changed in (*damage.damaged(whole, 1, 20), *damage.shortened(whole or b"x", 1, 10)):
            if changed != whole:
                yield f"{name} changed", partial(_write, name, changed)
        yield f"{name} is garbage", partial(_write, name, damage.garbage(1))
        yield f"{name} is deleted", lambda folder, name=name: (folder / name).unlink()
        yield f"{name} is a folder", lambda folder, name=name: damage.into_folder(folder / name)
    yield "one file more", partial(_write, "another", b"")


def _write(name, changed, folder):
    (folder / name).write_bytes(changed)


def test_whatever_is_damaged_is_noticed_and_made_anew(quick):
    with Cache(quick) as cache:
        folder, _ = artefact(cache)
    whole = damage.files(folder)
    times = 0
    for what, spoil in damages(whole):
        damage.restored(folder, whole)
        spoil(folder)
        with Cache(quick) as cache:
            same, made = artefact(cache)
            if not made:  # white space in a file of JSON
                assert json.loads((folder / "sums.json").read_text()) == json.loads(
                    whole["sums.json"]
                ), what
                continue
            assert (same, content(same)) == (folder, FILES), what
            (warned,) = checked(cache)
        assert warned.startswith(f"cache: chunks/{folder.name} is damaged ("), what
        assert warned.endswith("); it is computed again")
        times += 1
    assert times > 400
    assert left(quick) == []


@pytest.mark.parametrize("what", ["file", "empty folder"])
def test_something_else_in_the_place_of_an_artefact_is_taken_away(quick, what):
    with Cache(quick) as cache:
        folder, _ = artefact(cache)
        rows = cache.table("vectors", bytes, ABOUT)
        rows.put({"key": b"1"})
    (place,) = (quick / "vectors").iterdir()
    for each in (folder, place):
        damage.restored(each, {})
        if what == "file":
            each.write_bytes(b"garbage")
        else:
            each.mkdir()

    with Cache(quick) as cache:
        assert artefact(cache) == (folder, True)
        assert content(folder) == FILES
        rows = cache.table("vectors", bytes, ABOUT)
        assert rows.get(["key"]) == {}
        rows.put({"key": b"2"})
        assert rows.get(["key"]) == {"key": b"2"}
        assert len(checked(cache)) == 1
    assert left(quick) == []


def test_any_damaged_byte_of_an_index_is_noticed_unless_nothing_of_it_changed(quick):
    def index(folder):
        file = sqlite3.connect(folder / "index.sqlite3")
        file.execute("create table vectors (id integer primary key, vector blob)")
        file.execute("create table opened (at)")
        rows = [(number, bytes([number]) * 90) for number in range(60)]
        file.executemany("insert into vectors values (?, ?)", rows)
        file.commit()
        file.close()

    def vectors(folder):
        file = sqlite3.connect(folder / "index.sqlite3")
        try:
            return file.execute("select * from vectors").fetchall()
        finally:
            file.close()

    sums = {"index.sqlite3": partial(content_sum, leave_out={"opened"})}
    with Cache(quick) as cache:
        folder, _ = artefact(cache, index, by_content=sums)
    whole, right = damage.files(folder), vectors(folder)
    made = 0
    for changed in damage.damaged(whole["index.sqlite3"], 1):
        damage.restored(folder, {**whole, "index.sqlite3": changed})
        with Cache(quick) as cache:
            made += artefact(cache, index, by_content=sums)[1]
            checked(cache)
        assert vectors(folder) == right
    assert made > 90  # of some pages most is not in use

    damage.restored(folder, {**whole, "index.sqlite3-journal": b""})
    with Cache(quick) as cache:
        assert not artefact(cache, index, by_content=sums)[1], "another run is opening it"


def test_what_is_damaged_is_not_deleted_while_another_process_uses_it(quick):
    with running(USE, quick) as process:
        (folder,) = (quick / "chunks").iterdir()
        (folder / "more").write_text("in its hands")
        with Cache(quick) as cache:
            assert artefact(cache, about={"of": "all"}) == (folder, True)
            assert content(folder) == FILES
        (kept,) = left(quick)
        assert (quick / "chunks" / kept / "more").read_text() == "in its hands"
        kill(process)
        with Cache(quick):
            assert left(quick) == []


def test_a_fresh_run_uses_nothing_that_was_there_and_others_go_on_using_it(quick):
    with Cache(quick) as cache:
        folder, _ = artefact(cache)
        cache.table("vectors", bytes, ABOUT).put({"key": b"old"})

    def again(new):
        assert content(folder) == FILES, "there is always one for others to read"
        (new / "new").write_text("new")

    with Cache(quick, fresh=True) as cache:
        assert artefact(cache, again) == (folder, True)
        assert artefact(cache, again) == (folder, False)
        rows = cache.table("vectors", bytes, ABOUT)
        assert rows.get(["key"]) == {}
        rows.put({"key": b"new"})
        assert rows.get(["key"]) == {"key": b"new"}
        assert cache.warnings == []
    with Cache(quick) as cache:
        assert artefact(cache) == (folder, False)
        assert content(folder) == {"new": b"new"}
        assert cache.table("vectors", bytes, ABOUT).get(["key"]) == {"key": b"new"}
    assert left(quick) == []


def test_rows_are_one_file_for_what_says_the_same(quick):
    with Cache(quick) as cache:
        rows = cache.table("vectors", bytes, dict(reversed(ABOUT.items())))
        rows.put({"key": b"1"})
        rows.close()
        assert cache.table("vectors", bytes, ABOUT).get(["key"]) == {"key": b"1"}
        (folder,) = (quick / "vectors").iterdir()
        assert json.loads((folder / "about.json").read_text()) == ABOUT
        assert not users.remove(quick, folder)
    assert users.remove(quick, folder)


def test_damaged_rows_are_warned_of_by_name(quick):
    with Cache(quick) as cache:
        cache.table("vectors", bytes, ABOUT).put({"key": b"1"})
    (folder,) = (quick / "vectors").iterdir()
    (folder / "rows.db").write_bytes(damage.garbage(1))
    (folder / "about.json").write_bytes(damage.garbage(2))

    with Cache(quick) as cache:
        assert cache.table("vectors", bytes, ABOUT).get(["key"]) == {}
        assert checked(cache) == [
            f"cache: vectors/{folder.name} is damaged; it is started again",
        ]


def test_a_warning_is_noted_once(quick):
    with Cache(quick) as cache:
        for text in ("one", "two", "one"):
            cache.warn(text)

    assert cache.warnings == ["one", "two"]


def test_a_cache_of_a_newer_version_is_left_alone(quick):
    with Cache(quick):
        pass
    (quick / MARK).write_text(json.dumps({"version": VERSION + 1}))
    with pytest.raises(HarnessError, match=f"its layout is {VERSION + 1}, .* knows {VERSION}"):
        Cache(quick)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "9"}', "\x00" * 20, None])
def test_a_damaged_mark_costs_nothing(quick, text):
    with Cache(quick) as cache:
        artefact(cache)
    if text is None:
        damage.into_folder(quick / MARK)
    else:
        (quick / MARK).write_text(text)

    with Cache(quick) as cache:
        assert not artefact(cache)[1]


def test_a_cache_marks_itself_for_backups_and_git(quick):
    with Cache(quick):
        pass

    assert (quick / ".gitignore").read_text() == "*\n"
    assert (quick / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d17")
    assert json.loads((quick / MARK).read_text()) == {"version": VERSION}


def test_a_file_in_the_place_of_the_cache_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(HarnessError, match=r"(?s)cannot be written: .*--set cache=FOLDER"):
            Cache(path)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_file_in_the_place_of_a_kind_costs_its_rows_and_refuses_its_folders(quick):
    quick.mkdir()
    (quick / "chunks").write_text("in the way")
    with Cache(quick) as cache:
        rows = cache.table("chunks", bytes, ABOUT)
        rows.put({"key": b"1"})
        assert rows.get(["key"]) == {}
        assert checked(cache)
        with pytest.raises(OSError, match="chunks"):
            artefact(cache)


def test_a_read_only_cache_is_refused(tmp_path):
    with disks.small(tmp_path / "disk") as disk:
        disks.read_only(disk)
        with pytest.raises(HarnessError, match="cannot be written: Read-only file system"):
            Cache(disk)
        with pytest.raises(HarnessError, match="cannot be written: Read-only file system"):
            Cache(disk / "below")


def test_on_a_full_disk_rows_are_given_up_and_nothing_half_made_stays(tmp_path):
    def large(folder):
        (folder / "large").write_bytes(b"x" * 2_000_000)

    with disks.small(tmp_path / "disk") as disk:
        with Cache(disk) as cache:
            kept, _ = artefact(cache)
            rows = cache.table("vectors", bytes, ABOUT)
            rows.put({"small": b"1"})
            rows.put({"large": b"x" * 2_000_000})
            assert rows.get(["small", "large"]) == {"small": b"1"}
            with pytest.raises(OSError, match="No space left"):
                artefact(cache, large, {"of": "large"})
            assert left(disk) == []
            (warned,) = checked(cache)
        assert "cannot be used (database or disk is full); going on without" in warned
        with Cache(disk) as cache:
            assert artefact(cache) == (kept, False)
            assert cache.table("vectors", bytes, ABOUT).get(["small"]) == {"small": b"1"}
            assert cache.warnings == []
