"""The store that machines share: whole or not at all, and damage is never given out."""

import hashlib
import io
import itertools
import json
import pickle
import shutil
import struct
import sys

import pytest

from harness.cache import Cache
from harness.embedders.hashing import Hashing
from harness.errors import HarnessError, MissingExtra, RunError
from harness.execution import OnRay
from harness.index import IndexSettings, open_or_build
from harness.rows import key_of
from harness.shared import Shared, SharedRows, packing
from harness.shared.folder import Folder
from tests import damage, disks
from tests.listed import listed
from tests.processes import begun, kill, said
from tests.stores import PROTOCOL, Counted

ABOUT = {"of": "mars"}
PLACE = "vectors/0123456789abcdef"
ROWS = {key_of(str(number)): bytes([number]) * (number % 7) * 5 for number in range(40)}
FILES = {"one.bin": b"\x01" * 700, "deep/two.txt": b"zwei\n", "empty": b""}
NUMBERS = itertools.count()
HALF = """
import sys
from pathlib import Path
from harness.shared.folder import Folder
def fill(file):
    file.write(b"half")
    file.flush()
    print("fsspec" in sys.modules)
    sys.stdin.read()
Folder(Path(sys.argv[1])).put("chunks/one.packed", fill)
"""
PUBLISH = """
import sys
from pathlib import Path
from harness.cache import Cache
from harness.rows import key_of
from harness.shared import Shared
store, own, name = sys.argv[1:]
with Cache(Path(own), shared=Shared(store)) as cache:
    for number in range(20):
        def make(folder):
            for each in range(5):
                (folder / str(each)).write_text(name * 3000)
        cache.folder("chunks", {"of": number}, make)
        cache.rows("vectors", {}).put([(key_of(str(number)), b"%d" % number)])
        cache.flush()
"""


@pytest.fixture
def folder():
    with disks.quick() as place:
        yield place


@pytest.fixture(params=["folder", "memory", PROTOCOL])
def url(request, folder):
    if request.param == "folder":
        return f"file://{folder}/store"
    return f"{request.param}://test/{next(NUMBERS)}"


@pytest.fixture
def store(folder):
    return folder / "store"


def written(folder, files=FILES):
    damage.restored(folder, files)
    return folder


def make(folder):
    written(folder)


def never(folder):
    raise AssertionError("it is in the store")


def published(store, rows=ROWS):
    """Return the file of a batch of rows."""
    added = Shared(str(store)).rows(PLACE)
    added.add(rows)
    added.flush()
    (file,) = (store / PLACE).iterdir()
    return file


def found(store, keys=ROWS):
    return Shared(str(store)).rows(PLACE).find(keys)


def packed(folder):
    file = io.BytesIO()
    packing.pack(folder, file)
    return file.getvalue()


# Addresses.


@pytest.mark.parametrize(
    ("url", "kind", "said"),
    [
        ("ss3://bucket/x", HarnessError, "unknown protocol 'ss3'\n  did you mean 's3'?"),
        ("simplecache::memory://x", HarnessError, "unknown protocol 'simplecache::memory'"),
        ("webdav://x", MissingExtra, "needs a library .*: webdav4\n  pip install webdav4"),
        ("file://there", HarnessError, "write it with three: file:///FOLDER"),
        ("", HarnessError, "is no address"),
        ("a\x00b", HarnessError, "is no address"),
        ("/dev/null/store", HarnessError, "cannot be reached, or not be written: Not a directory"),
        ("data://x", HarnessError, "cannot be"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_with_the_remedy(url, kind, said):
    with pytest.raises(kind, match=said):
        Shared(url)


def test_without_fsspec_a_folder_will_do_and_the_rest_says_what_to_install(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    Shared(str(store)).write("name", b"")
    with pytest.raises(MissingExtra, match=r"(?s)installed: fsspec\n.*pip install"):
        Shared("memory://x")


def test_a_password_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(HarnessError, match="holds a password") as caught:
        Shared("sftp://me:hunter2@host/store")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["abfs://runs@account.dfs.core.windows.net/x", "sftp://me@host/x", "s3://b/a:b@c"]
)
def test_a_name_in_an_address_is_no_password(url):
    assert OnRay("auto", store=url).store == url


def test_a_store_of_a_newer_version_is_left_alone_and_a_damaged_mark_costs_nothing(store):
    Shared(str(store)).write("store.json", b'{"version": 2}')
    with pytest.raises(HarnessError, match="its layout is 2, and this version knows 1"):
        Shared(str(store))
    for text in (b"", b"[]", b"\xff", b'{"version": "x"}', b"[" * 100_000):
        (store / "store.json").write_bytes(text)
        assert Shared(str(store)).read("store.json") == b'{"version": 1}\n'


def test_a_store_travels_to_another_process_by_its_address(store, folder, monkeypatch):
    monkeypatch.chdir(folder)
    shared = Shared("store")
    monkeypatch.chdir("/")
    shared.write("name", b"1")
    assert pickle.loads(pickle.dumps(shared)).read("name") == b"1"
    assert shared.url == str(store)


# Objects.


def test_what_is_written_is_read_and_replaced(url):
    shared = Shared(url)
    assert shared.read("a/b.json") is None
    for raw in (b"one", b"", bytes(range(256))):
        shared.write("a/b.json", raw)
        assert Shared(url).read("a/b.json") == raw


def test_what_is_taken_away_is_gone_and_the_rest_is_not_until_all_is_cleared(url):
    shared = Shared(url)
    for name in ("a/b.json", "c"):
        shared.write(name, b"raw")
    shared.remove("a/b.json")
    shared.remove("a/b.json")
    assert (shared.read("a/b.json"), shared.read("c")) == (None, b"raw")
    shared.clear()
    assert [shared.read(name) for name in ("c", "store.json")] == [None, None]


@pytest.mark.parametrize(
    "name", ["", "/a", "../a", "a/../b", "a//b", ".making/a", "a/", "ä", "a b"]
)
def test_names_that_lead_elsewhere_are_refused(store, name):
    shared = Shared(str(store))
    for use in (shared.read, shared.rows, lambda each: shared.write(each, b"")):
        with pytest.raises(ValueError, match="no name for a shared artefact"):
            use(name)


# Rows.


def test_rows_are_found_by_others_and_nothing_else(url):
    rows = Shared(url).rows(PLACE)
    assert rows.find([*ROWS]) == {}
    rows.add(ROWS)
    assert rows.find([*ROWS, key_of("no")]) == ROWS
    assert Shared(url).rows(PLACE).find(ROWS) == {}, "not published yet"
    rows.flush()
    rows.flush()
    other = Shared(url).rows(PLACE)
    assert other.find([*ROWS, key_of("no")]) == ROWS
    assert other.find([]) == {}
    assert Shared(url).rows("vectors/other").find(ROWS) == {}


def test_what_others_add_is_seen_after_looking_again(url):
    one, two = Shared(url).rows(PLACE), Shared(url).rows(PLACE)
    one.add({key_of("0"): b"first"})
    one.flush()
    for number in range(1, 5):
        key = key_of(str(number))
        two.find([key])
        one.add({key: b"%d" % number})
        one.flush()
        two.refresh()
        assert two.find([key, key_of("0")]) == {key: b"%d" % number, key_of("0"): b"first"}


def test_rows_are_published_by_two_thousand_or_by_eight_megabytes(store):
    rows = Shared(str(store)).rows(PLACE)
    rows.add({key_of(str(number)): b"x" for number in range(4_500)})
    names = sorted(path.name.partition("-")[2] for path in (store / PLACE).iterdir())
    assert names == ["2000.rows", "2000.rows"]
    rows.flush()
    rows.add({key_of("large", str(number)): bytes(3 << 20) for number in range(3)})
    names = sorted(path.name.partition("-")[2] for path in (store / PLACE).iterdir())
    assert names == ["2000.rows", "2000.rows", "3.rows", "500.rows"]


def test_the_same_rows_are_the_same_object_whoever_publishes_them(store):
    for _ in range(2):
        file = published(store)
    assert found(store) == ROWS
    assert file.name == f"{file.name.split('-')[0]}-40.rows"


def test_keys_of_other_lengths_are_refused_and_any_bytes_are_keys(store):
    rows = Shared(str(store)).rows(PLACE)
    for use in (rows.find, lambda keys: rows.add(dict.fromkeys(keys, b""))):
        with pytest.raises(ValueError, match="keys of shared rows have 16 bytes"):
            use([b"short"])
    odd = [bytes(16), bytes(15) + b"\x01", b"\x01" + bytes(15), b"\xff" * 16, b"a" * 8 + bytes(8)]
    rows.add({key: key + b"!" for key in odd})
    rows.flush()
    assert found(store, odd) == {key: key + b"!" for key in odd}
    assert found(store, [b"\x01" * 16, b"a" * 9 + bytes(7)]) == {}


def test_one_of_many_is_read_without_the_others():
    url = f"{PROTOCOL}://test/{next(NUMBERS)}"
    rows = Shared(url).rows(PLACE)
    rows.add({key_of(str(number)): bytes(5_000) for number in range(1_000)})
    rows.flush()
    reader, Counted.read = Shared(url).rows(PLACE), 0
    assert reader.find([key_of("7")]) == {key_of("7"): bytes(5_000)}
    # 20 bytes a key with what it is and its checksum, and one value with its own.
    assert Counted.read == 1_000 * 20 + 24 + 5_008


def test_which_rows_are_there_is_told_by_the_headers_alone():
    url = f"{PROTOCOL}://test/{next(NUMBERS)}"
    rows = Shared(url).rows(PLACE)
    rows.add({key_of(str(number)): bytes(5_000) for number in range(1_000)})
    assert rows.there([key_of("7"), key_of("no")]) == {key_of("7")}, "to be published"
    rows.flush()
    reader, Counted.read = Shared(url).rows(PLACE), 0
    assert reader.there([key_of("7"), key_of("no"), key_of("999")]) == {key_of("7"), key_of("999")}
    # 20 bytes a key with what it is and its checksum, and no value.
    assert Counted.read == 1_000 * 20 + 24


def test_of_rows_before_a_store_those_are_there_that_either_has_and_all_are_published(
    tmp_path, store
):
    key, other = key_of("here"), key_of("elsewhere")
    with Cache(tmp_path / "cache") as cache:
        cache.rows("vectors", {"of": 1}).put({key: b"here"})
    with Cache(tmp_path / "other", shared=Shared(str(store))) as cache:
        cache.rows("vectors", {"of": 1}).put({other: b"elsewhere"})

    with Cache(tmp_path / "cache", shared=Shared(str(store))) as cache:
        rows = cache.rows("vectors", {"of": 1})
        assert rows.there([key, other, key_of("no")]) == {key, other}

    (place,) = (store / "vectors").iterdir()
    place = f"vectors/{place.name}"
    assert Shared(str(store)).rows(place).there([key, other]) == {key, other}


def test_a_row_that_is_damaged_in_one_batch_is_read_from_another(store):
    first = published(store, {key_of("a"): b"same", key_of("b"): b"b"})
    whole = first.read_bytes()
    second = Shared(str(store)).rows(PLACE)
    second.add({key_of("a"): b"same", key_of("c"): b"c"})
    second.flush()
    for path in (store / PLACE).iterdir():
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b"same", b"sxme"))
        assert found(store, [key_of("a")]) == {key_of("a"): b"same"}
        path.write_bytes(whole)


def test_any_damaged_byte_of_rows_gives_right_values_or_none(store):
    few = dict(list(ROWS.items())[:9])
    file, place = published(store, few), Folder(store)
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        got = SharedRows(place, PLACE).find(few)
        assert got.items() <= few.items(), at
        assert len(got) == (0 if at < 24 + 20 * 9 else 8), at
    for changed in (*damage.shortened(whole, 1), whole + b"more", damage.garbage(1)):
        file.write_bytes(changed)
        assert SharedRows(place, PLACE).find(few) == {}
    damage.into_folder(file)
    assert found(store) == {}


def test_rows_that_were_damaged_are_there_once_they_are_added_again(store):
    file = published(store)
    whole = file.read_bytes()
    for changed in (whole[:-1], b"", bytes([whole[0] ^ 1]) + whole[1:]):
        file.write_bytes(changed)
        rows = Shared(str(store)).rows(PLACE)
        waiting = Shared(str(store)).rows(PLACE)
        assert rows.find(ROWS) == waiting.find(ROWS) == {}
        rows.add(ROWS)
        rows.flush()
        waiting.refresh()
        assert rows.find(ROWS) == waiting.find(ROWS) == found(store) == ROWS


def test_objects_that_are_none_of_ours_are_passed_over(store):
    file = published(store)
    digest = file.name.split("-")[0]
    for name in ("readme", f"{digest}-0.rows", f"{digest}-9999999.rows", f"{digest}-41.rows"):
        file.with_name(name).write_bytes(file.read_bytes())
    file.with_name(f"{digest}-12345678901234567890.rows").write_bytes(b"")
    assert found(store) == ROWS


# Folders.


def test_an_artefact_is_published_once_and_fetched_whole(url, folder):
    shared = Shared(url)
    into = written(folder / "into", {})
    into.mkdir()
    assert not shared.fetch("chunks/one", into)
    shared.publish("chunks/one", written(folder / "from"))
    shared.publish("chunks/one", written(folder / "other", {"two": b"late"}))
    assert Shared(url).fetch("chunks/one", into)
    assert damage.files(into) == FILES


def test_of_two_that_publish_the_same_at_once_the_first_wins(store):
    places = Folder(store), Folder(store)

    def fill(file):
        places[1].put("chunks/one.packed", lambda other: other.write(b"first"))
        file.write(b"second")

    places[0].put("chunks/one.packed", fill)
    assert places[0].read("chunks/one.packed") == b"first"
    assert list((store / ".making").iterdir()) == []


def test_processes_that_publish_the_same_at_once_leave_it_whole(folder, store):
    for each in [begun(PUBLISH, store, folder / name, name) for name in ("a", "b")]:
        said(each)
    shared = Shared(str(store))
    for path in sorted((store / "chunks").iterdir()):
        into = folder / path.name
        into.mkdir()
        assert shared.fetch(f"chunks/{path.stem}", into)
        assert len({(into / str(each)).read_text() for each in range(5)}) == 1
    assert len(list((store / "chunks").iterdir())) == 20
    with Cache(folder / "c", shared=shared) as cache:
        keys = {key_of(str(number)): b"%d" % number for number in range(20)}
        assert cache.rows("vectors", {}).get(keys) == keys


def test_what_is_killed_while_it_publishes_shows_nothing_and_loads_no_large_library(folder, store):
    process = begun(HALF, store)
    assert process.stdout.readline() == "False\n"
    kill(process)
    shared, into = Shared(str(store)), folder / "into"
    into.mkdir()
    assert not shared.fetch("chunks/one", into)
    assert list((store / "chunks").iterdir()) == []
    shared.publish("chunks/one", written(folder / "from"))
    assert shared.fetch("chunks/one", into)


def test_any_damaged_byte_of_an_artefact_is_noticed_and_it_can_be_published_again(folder, store):
    shared, source, into = Shared(str(store)), written(folder / "from"), folder / "into"
    into.mkdir()
    shared.publish("chunks/one", source)
    file = store / "chunks" / "one.packed"
    whole = file.read_bytes()
    harms = [*damage.damaged(whole, 1, 300), *damage.shortened(whole, 1), whole + b"x"]
    for changed in harms:
        file.write_bytes(changed)
        assert not shared.fetch("chunks/one", into)
        assert damage.files(into) == {}
        assert not file.exists()
    shared.publish("chunks/one", source)
    assert file.read_bytes() == whole


def hostile(listed, content=b"evil", total=None):
    """Return an archive with right checksums that says this of itself."""
    raw = listed if isinstance(listed, bytes) else json.dumps(listed).encode()
    sums = hashlib.sha256(raw).digest(), hashlib.sha256(content).digest()
    size = len(content) if total is None else total
    return struct.pack("<8sQQ32s32s", b"HARNESS1", len(raw), size, *sums) + raw + content


@pytest.mark.parametrize(
    "raw",
    [
        *(
            hostile([[name, 4]])
            for name in (
                "../out",
                "/tmp/harness-out",
                "a/../../out",
                "",
                ".",
                "a//b",
                "a\\..\\b",
                "C:x",
                "a\x00b",
                "x" * 300,
                "/".join("a" * 40),
            )
        ),
        hostile([["a", 2], ["a", 2]]),
        hostile([["a", 2], ["a/b", 2]]),
        hostile([["a", -4], ["b", 8]]),
        hostile([["a", 5]], total=5),
        hostile([["a", 3]], total=3),
        hostile([["a", 4]], total=2**63),
        hostile([["a", "x"]]),
        hostile(b'[["a", Infinity]]'),
        hostile({"a": 4}),
        hostile(b"[" * 100_000),
        hostile(b"\xff"),
        struct.pack("<8sQQ32s32s", b"HARNESS1", 2**63, 4, bytes(32), bytes(32)) + b"[]",
    ],
)
def test_an_archive_that_wants_out_of_its_folder_or_is_too_large_is_not_unpacked(
    folder, store, raw
):
    shared, into = Shared(str(store)), folder / "into"
    into.mkdir()
    shared.write("chunks/one.packed", raw)
    before = {path for path in folder.iterdir()}
    assert not shared.fetch("chunks/one", into)
    assert damage.files(into) == {}
    assert {path for path in folder.iterdir()} == before


def test_what_has_no_room_here_is_left_where_it_is(tmp_path, store):
    shared = Shared(str(store))
    shared.publish("chunks/one", written(tmp_path / "from", {"large": bytes(3 << 20)}))
    with disks.small(tmp_path / "disk") as disk:
        with pytest.raises(OSError, match="no room on this machine"):
            shared.fetch("chunks/one", disk)
        assert damage.files(disk) == {}
    assert (store / "chunks" / "one.packed").exists()


# Caches with a store behind them.


def test_what_one_machine_made_another_finds_and_keeps(url, folder):
    with Cache(folder / "a", shared=Shared(url)) as cache:
        cache.folder("chunks", ABOUT, make)
        cache.rows("vectors", ABOUT).put(ROWS)
        cache.flush()
        cache.refresh()
        assert cache.made("chunks", ABOUT)
    with Cache(folder / "b", shared=Shared(url)) as cache:
        assert damage.files(cache.folder("chunks", ABOUT, never)).items() >= FILES.items()
        assert not cache.made("chunks", ABOUT)
        assert cache.counted() == {"chunks": {"made": 0, "reused": 1}}
        assert cache.rows("vectors", ABOUT).get([*ROWS, key_of("no")]) == ROWS
        assert cache.warnings == []
    with Cache(folder / "b") as cache:
        cache.folder("chunks", ABOUT, never)
        assert cache.rows("vectors", ABOUT).get(ROWS) == ROWS
        cache.flush()
        cache.refresh()


def test_what_is_here_and_was_never_published_is_published_when_it_is_used(url, folder):
    with Cache(folder / "a") as cache:  # it was killed before it could publish
        cache.folder("chunks", ABOUT, make)
        cache.rows("vectors", ABOUT).put(ROWS)
    with Cache(folder / "a", shared=Shared(url)) as cache:
        cache.folder("chunks", ABOUT, never)
        assert cache.rows("vectors", ABOUT).get(ROWS) == ROWS
        cache.flush()
    with Cache(folder / "b", shared=Shared(url)) as cache:
        cache.folder("chunks", ABOUT, never)
        assert cache.rows("vectors", ABOUT).get(ROWS) == ROWS


def test_a_row_that_is_there_is_not_published_again(folder, store):
    with Cache(folder / "a", shared=Shared(str(store))) as cache:
        cache.rows("vectors", ABOUT).put(ROWS)
    with Cache(folder / "b") as cache:
        cache.rows("vectors", ABOUT).put(ROWS)
    with Cache(folder / "b", shared=Shared(str(store))) as cache:
        assert cache.rows("vectors", ABOUT).get(ROWS) == ROWS
        cache.flush()
    (place,) = (store / "vectors").iterdir()
    assert len(list(place.iterdir())) == 1


def test_a_store_that_goes_away_is_warned_of_once_and_no_work_is_called_done(folder, store):
    with Cache(folder / "a", shared=Shared(str(store))) as cache:
        rows = cache.rows("vectors", ABOUT)
        shutil.rmtree(store)
        store.write_text("in the way")
        rows.put(ROWS)
        assert rows.get(ROWS) == ROWS
        assert cache.folder("chunks", ABOUT, make).is_dir()
        assert cache.rows("vectors", {"of": "venus"}).get(ROWS) == {}
        for _ in range(2):
            with pytest.raises(RunError, match="cannot be put into the shared store: Not a direc"):
                cache.flush()
        assert cache.warnings == [
            "the shared store cannot be used (Not a directory); going on without it"
        ]
    with Cache(folder / "a") as cache:
        assert cache.rows("vectors", ABOUT).get(ROWS) == ROWS


def test_an_error_of_a_library_is_one_of_the_store_and_its_words_are_not_repeated(folder):
    with Cache(folder / "a", shared=Shared(f"{PROTOCOL}://test/{next(NUMBERS)}")) as cache:
        Counted.failing = True
        try:
            cache.rows("vectors", ABOUT).put(ROWS)
            with pytest.raises(RunError, match=r"the shared store: LibraryError\n"):
                cache.flush()
            with pytest.raises(HarnessError, match="cannot be reached"):
                Shared(f"{PROTOCOL}://test/other")
        finally:
            Counted.failing = False
        assert cache.warnings == [
            "the shared store cannot be used (LibraryError); going on without it"
        ]


def test_an_artefact_that_is_not_as_its_own_sums_say_is_made_anew_and_replaced(folder, store):
    with Cache(folder / "a", shared=Shared(str(store))) as cache:
        name = cache.folder("chunks", ABOUT, make).name
    wrong = written(folder / "wrong", {"one.bin": b"other", "sums.json": b"{}", "about.json": b""})
    (store / "chunks" / f"{name}.packed").write_bytes(packed(wrong))
    with Cache(folder / "b", shared=Shared(str(store))) as cache:
        place = cache.folder("chunks", ABOUT, make)
        assert damage.files(place).items() >= FILES.items()
        assert cache.made("chunks", ABOUT)
        cache.flush()
    with Cache(folder / "c", shared=Shared(str(store))) as cache:
        cache.folder("chunks", ABOUT, never)


def test_an_index_from_the_store_gives_the_same_as_the_one_that_was_built(folder, store):
    texts = [f"ring {number} of {number % 7}" for number in range(60)]
    embedder = Hashing(32)
    asked = embedder.embed(["ring 4 of 4", "of 2"], "query")
    near = []
    for name in ("a", "b"):
        with Cache(folder / name, shared=Shared(str(store))) as cache:
            index = open_or_build(cache, listed(texts), embedder, IndexSettings())
            near.append(index.nearest(asked, 10))
            cache.flush()
            assert cache.counted()["index"]["made"] == (name == "a")
            assert cache.warnings == []
    assert near[0] == near[1]
