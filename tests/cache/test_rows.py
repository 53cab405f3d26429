"""Rows: what several processes write at once, what a kill leaves, and damage to every byte."""

import sqlite3
import threading
import time

import pytest

from harness.cache.sqlite import RowFile, content_sum
from harness.fingerprint import digest
from tests.support import damage, disks
from tests.support.processes import begun, kill, running, said

WANT = {digest("row", str(number)): bytes([number]) * (1 + 17 * number) for number in range(40)}
"""Values of many lengths; the longest take more than one page between them."""
WRITE = """
import sys
from pathlib import Path
from harness.cache.sqlite import RowFile
from harness.fingerprint import digest
warned = []
rows = RowFile(Path(sys.argv[1]), "rows", warned.append)
for number in range(int(sys.argv[3])):
    rows.put([(digest(sys.argv[2], str(number)), f"{sys.argv[2]} {number}".encode())])
    print(number)
rows.close()
assert not warned, warned
"""


@pytest.fixture
def quick():
    with disks.quick() as folder:
        yield folder


class Told(list):
    """What was warned of."""

    def __call__(self, text):
        assert "/" not in text
        assert text.isprintable()
        self.append(text)


def opened(folder, **settings):
    told = Told()
    return RowFile(folder / "rows.db", "rows", told, **settings), told


def get(folder, keys=WANT):
    rows, told = opened(folder)
    try:
        return rows.get(keys), told
    finally:
        rows.close()


@pytest.fixture
def whole(quick):
    """Return the bytes of a sound file."""
    rows, told = opened(quick)
    rows.put(WANT)
    rows.close()
    assert not told
    return (quick / "rows.db").read_bytes()


def test_keys_are_sixteen_bytes_that_tell_texts_apart():
    keys = {
        digest("a", "bc"),
        digest("ab", "c"),
        digest("abc"),
        digest("abc", ""),
        digest("\ud800"),
    }

    assert len(keys) == 5
    assert {len(key) for key in keys} == {16}


def test_what_was_put_is_got_and_nothing_else(quick):
    rows, _ = opened(quick)
    rows.put(WANT)

    assert rows.get([*WANT, *WANT, digest("another")]) == WANT
    assert rows.get([]) == {}
    rows.close()
    assert get(quick) == (WANT, [])


def test_which_keys_are_there_is_told_without_reading_values(quick):
    rows, told = opened(quick)
    rows.put(WANT)
    with sqlite3.connect(quick / "rows.db") as file:
        file.execute("update rows set value = x'00'")
    file.close()

    assert rows.there([*WANT, digest("another")]) == set(WANT)
    assert rows.there([]) == set()
    rows.close()
    fresh, _ = opened(quick, run=b"own", fresh=True)
    fresh.put({digest("own"): b""})
    assert fresh.there([*WANT, digest("own")]) == {digest("own")}
    fresh.close()
    assert told == []


def test_thousands_of_keys_are_asked_for_at_once(quick):
    many = {digest(str(number)): str(number).encode() for number in range(3_000)}
    rows, _ = opened(quick)
    rows.put(many.items())

    assert rows.get(many) == many
    rows.close()


def test_a_later_value_takes_the_place_of_an_earlier(quick):
    rows, _ = opened(quick)
    rows.put([(b"key", b"old"), (b"other", b"kept")])
    rows.put([(b"key", b"new")])

    assert rows.get([b"key", b"other"]) == {b"key": b"new", b"other": b"kept"}
    rows.close()


def test_a_fresh_run_is_given_only_its_own_rows(quick):
    rows, _ = opened(quick, run=b"first")
    rows.put([(b"one", b"1"), (b"two", b"2")])
    rows.close()
    rows, _ = opened(quick, run=b"second", fresh=True)

    assert rows.get([b"one", b"two"]) == {}
    rows.put([(b"two", b"II")])
    assert rows.get([b"one", b"two"]) == {b"two": b"II"}
    rows.close()
    assert get(quick, [b"one", b"two"])[0] == {b"one": b"1", b"two": b"II"}


def test_closed_rows_give_and_keep_nothing(quick):
    rows, told = opened(quick)
    rows.close()
    rows.put(WANT)

    assert rows.get(WANT) == {}
    assert not told


def test_a_row_whose_writing_returned_survives_a_kill(quick):
    for each in ("a", "b", "c"):
        with running(WRITE, quick / "rows.db", each, 100_000) as process:
            lines = [process.stdout.readline() for _ in range(50)]
            kill(process)
        last = int(lines[-1])
        wanted = {digest(each, str(n)): f"{each} {n}".encode() for n in range(last + 1)}

        assert get(quick, wanted) == (wanted, [])


def test_processes_that_begin_one_file_at_once_lose_nothing(quick):
    names = ["a", "b", "c", "d"]
    for each in [begun(WRITE, quick / "rows.db", name, 150) for name in names]:
        said(each)
    wanted = {digest(a, str(n)): f"{a} {n}".encode() for a in names for n in range(150)}

    assert get(quick, wanted) == (wanted, [])


def test_a_file_that_another_process_is_just_beginning_is_waited_for(quick):
    other = sqlite3.connect(quick / "rows.db", isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")  # SQLite itself gives up on this at once
    later = threading.Timer(0.2, other.close)
    later.start()
    rows, told = opened(quick)
    rows.put(WANT)

    assert rows.get(WANT) == WANT
    assert not told
    rows.close()
    later.join()


def test_what_is_slow_to_make_keeps_nobody_waiting(quick):
    mine, _ = opened(quick)
    other, told = opened(quick)

    def slowly():
        other.put([(b"other", b"2")])
        yield b"mine", b"1"

    start = time.monotonic()
    mine.put(slowly())

    assert time.monotonic() - start < 5
    assert mine.get([b"mine", b"other"]) == {b"mine": b"1", b"other": b"2"}
    assert not told
    mine.close()
    other.close()


def test_a_mistake_of_ours_is_raised_and_costs_no_row(quick):
    rows, told = opened(quick)
    rows.put(WANT)
    with pytest.raises(sqlite3.ProgrammingError):
        rows.put([(b"good", b"1"), (b"key", object())])

    assert rows.get([*WANT, b"good"]) == WANT
    assert not told
    rows.close()


def heals(folder, whole=True):
    """Look at a damaged file: nothing wrong is given, and what is put again is there again.

    Not `whole` where some may be looked for in vain for ever, because a key has changed that shows
    SQLite the way to others.
    """
    rows, told = opened(folder)
    first = rows.get(WANT)
    rows.put(WANT)
    second = rows.get(WANT)
    if second != WANT:  # what is damaged showed only now
        rows.put(WANT)
    third = rows.get(WANT)
    rows.close()
    for found in (first, second, third, get(folder)[0]):
        assert found.items() <= WANT.items()
    assert third == WANT or not whole
    return first, told, third == WANT


@pytest.mark.parametrize("seed", [1, 2])
def test_any_damaged_byte_costs_time_and_nothing_else(quick, whole, seed):
    lost = unsaid = ill = 0
    for changed in damage.damaged(whole, seed):
        damage.restored(quick, {"rows.db": changed})
        found, told, healed = heals(quick, whole=False)
        lost += found != WANT
        unsaid += found != WANT and not told
        ill += not healed
    assert lost > 20
    assert ill < 10
    # A key that was changed is a row that is not there; nobody can know that it was.
    assert unsaid < lost / 2


def test_a_file_cut_short_costs_time_and_nothing_else(quick, whole):
    for left in damage.shortened(whole, 1):
        damage.restored(quick, {"rows.db": left})
        found, told, _ = heals(quick)
        assert told or found in ({}, WANT)


@pytest.mark.parametrize("how", ["garbage", "folder", "deleted", "another table"])
def test_a_file_that_is_something_else_is_begun_anew(quick, whole, how):
    path = quick / "rows.db"
    path.unlink()
    if how == "garbage":
        path.write_bytes(damage.garbage(1))
    elif how == "folder":
        damage.into_folder(path)
    elif how == "another table":
        file = sqlite3.connect(path)
        file.execute("create table rows (key, value, sum, run)")
        file.close()

    found, told, _ = heals(quick)

    assert found == {}
    assert told == ([] if how == "deleted" else ["rows is damaged; it is started again"])


def log_of(folder):
    """Return the files that a killed process leaves, of which a log holds all rows."""
    rows, _ = opened(folder)
    for key, value in WANT.items():
        rows.put({key: value})
    left = damage.files(folder)
    rows.close()
    assert len(left["rows.db-wal"]) > len(left["rows.db"])
    return left


def test_a_damaged_log_costs_time_and_nothing_else(quick):
    left = log_of(quick)
    log = left["rows.db-wal"]
    changes = [*damage.damaged(log, 1), *damage.shortened(log, 1), damage.garbage(1)]
    for changed in changes:
        damage.restored(quick, {**left, "rows.db-wal": changed})
        heals(quick)


def test_a_log_without_its_file_costs_time_and_nothing_else(quick):
    left = log_of(quick)
    damage.restored(quick, {"rows.db-wal": left["rows.db-wal"], "rows.db-shm": b"\xff" * 32_768})

    heals(quick)


@pytest.mark.parametrize("name", ["rows.db-wal", "rows.db-shm"])
def test_a_folder_in_the_place_of_a_log_is_taken_away(quick, whole, name):
    damage.into_folder(quick / name)

    heals(quick)


def test_a_value_that_belongs_to_another_key_is_not_given_out(quick, whole):
    one, two, *_ = WANT
    file = sqlite3.connect(quick / "rows.db", isolation_level=None)
    for to, of in ((one, two), (two, one)):
        file.execute("update rows set value = ? where key = ?", (WANT[of], to))
    file.close()

    found, told = get(quick)

    assert set(WANT) - set(found) == {one, two}
    assert told == ["rows: a row is damaged; it is computed again"] * 2


def test_damage_during_a_run_is_survived_by_both_processes(quick):
    mine, _ = opened(quick)
    other, _ = opened(quick)
    mine.put(WANT)
    with (quick / "rows.db-wal").open("r+b") as log:
        log.seek(40)
        log.write(damage.garbage(1) * 20)
    with (quick / "rows.db").open("r+b") as file:
        file.write(damage.garbage(2) * 10)

    for rows in (mine, other, mine, other):
        assert rows.get(WANT).items() <= WANT.items()
        rows.put(WANT)
    mine.close()
    other.close()

    heals(quick)


def test_a_full_disk_is_warned_of_once_and_the_rows_stay(tmp_path):
    with disks.small(tmp_path / "disk") as disk:
        rows, told = opened(disk)
        rows.put(WANT)
        disks.fill(disk)
        for number in range(5):
            rows.put([(bytes([number]), b"x" * 100_000)])

        assert told == [
            "rows cannot be used (database or disk is full); going on without keeping more"
        ]
        assert rows.get(WANT) == WANT
        rows.close()
        (disk / "filling").unlink()
        assert get(disk) == (WANT, [])


def test_a_read_only_disk_is_warned_of_and_the_file_is_left_as_it_is(tmp_path):
    with disks.small(tmp_path / "disk") as disk:
        rows, _ = opened(disk)
        rows.put(WANT)
        rows.close()
        before = damage.files(disk)
        disks.read_only(disk)
        rows, told = opened(disk)
        rows.put(WANT)

        assert rows.get(WANT) in ({}, WANT)
        rows.close()
        assert len(told) == 1
        assert "cannot be used" in told[0]
        assert damage.files(disk) == before


def test_a_folder_that_is_not_there_is_warned_of(tmp_path):
    rows, told = opened(tmp_path / "none")
    rows.put(WANT)

    assert rows.get(WANT) == {}
    assert told == [
        "rows cannot be used (unable to open database file); going on without keeping more"
    ]


@pytest.fixture
def tables(quick):
    """Return an SQLite file of two tables."""
    path = quick / "tables.sqlite3"
    file = sqlite3.connect(path)
    file.execute("create table vectors (id integer primary key, vector blob)")
    file.execute("create table notes (text)")
    file.executemany("insert into vectors values (?, ?)", [(n, bytes([n]) * 90) for n in range(60)])
    file.execute("insert into notes values ('opened')")
    file.commit()
    file.close()
    return path


def contents(path):
    file = sqlite3.connect(path)
    try:
        return list(file.iterdump())
    finally:
        file.close()


def test_the_sum_of_contents_changes_with_any_row_but_those_left_out(tables):
    before = content_sum(tables, {"notes"})
    for change, same in (
        ("insert into notes values ('again')", True),
        ("update vectors set vector = x'00' where id = 59", False),
        ("delete from vectors where id = 0", False),
        ("create table another (x)", False),
        ("create index fast on vectors (vector)", False),
    ):
        file = sqlite3.connect(tables)
        file.execute(change)
        file.commit()
        file.close()
        after = content_sum(tables, {"notes"})
        assert (after == before) == same, change
        before = after


def test_a_damaged_byte_never_leaves_the_sum_of_other_contents(tables):
    whole, right, rows = tables.read_bytes(), content_sum(tables, ()), contents(tables)
    noticed = 0
    for changed in [*damage.damaged(whole, 3), *damage.shortened(whole, 3), damage.garbage(3)]:
        tables.write_bytes(changed)
        try:
            same = content_sum(tables, ()) == right
        except sqlite3.DatabaseError:
            same = False
        if same:
            assert contents(tables) == rows
        noticed += not same
    assert noticed > 100


def test_a_sum_of_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(sqlite3.DatabaseError):
        content_sum(tmp_path / "none", ())
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_opening_an_index_of_chroma_changes_its_bytes_but_not_its_contents(tmp_path):
    import chromadb

    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    path = tmp_path / "chroma" / "chroma.sqlite3"

    def client():
        return chromadb.PersistentClient(path=str(path.parent), settings=quiet)

    making = client()
    collection = making.create_collection("chunks", embedding_function=None)
    collection.add(ids=["0", "1"], embeddings=[[1.0, 2.0], [2.0, 1.0]])
    making.close()
    raw, before = path.read_bytes(), content_sum(path, {"acquire_write"})
    reading = client()
    collection = reading.get_collection("chunks", embedding_function=None)
    assert collection.query(query_embeddings=[[1.0, 2.0]], n_results=1)["ids"] == [["0"]]
    beside = content_sum(path, {"acquire_write"})
    reading.close()

    assert beside == content_sum(path, {"acquire_write"}) == before
    assert path.read_bytes() != raw
    assert content_sum(path, ()) != before
