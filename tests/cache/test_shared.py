"""The store that machines share: whole artefacts or none, over a folder and over fsspec."""

import secrets

import pytest

from harness.cache.folders import Cache
from harness.cache.shared import Store
from harness.errors import HarnessError
from tests.support import damage
from tests.support.processes import kill, running

ABOUT = {"of": "moon"}
FILES = {"one.bin": b"\x01" * 700, "deep/two.txt": b"zwei\n", "empty": b""}
PUT = """
import sys
from pathlib import Path
from harness.cache.shared import Store
store, folder = Store(sys.argv[1]), Path(sys.argv[2])
for number in range(10_000):
    store.put(f"chunks/{number}", folder)
    print(number)
"""


def make(folder):
    damage.restored(folder, FILES)


def never(folder):
    raise AssertionError("it is in the store")


def content(folder):
    own = ("about.json", "sums.json")
    return {name: raw for name, raw in damage.files(folder).items() if name not in own}


@pytest.fixture(params=["folder", "memory"])
def url(request, tmp_path):
    return (
        str(tmp_path / "store")
        if request.param == "folder"
        else f"memory://{secrets.token_hex(4)}/store"
    )


def test_what_one_cache_made_another_fetches(url, tmp_path):
    with Cache(tmp_path / "a", store=Store(url)) as cache:
        first = cache.folder("chunks", ABOUT, make)
    with Cache(tmp_path / "b", store=Store(url)) as cache:
        second = cache.folder("chunks", ABOUT, never)
        assert cache.counted() == {"chunks": {"made": 0, "reused": 1}}

    assert content(first) == content(second) == FILES
    assert (second / "about.json").read_bytes() == (first / "about.json").read_bytes()


def test_what_was_made_before_there_was_a_store_is_put_there_once_it_is_used(url, tmp_path):
    with Cache(tmp_path / "a") as cache:
        cache.folder("chunks", ABOUT, make)
    with Cache(tmp_path / "a", store=Store(url)) as cache:
        cache.folder("chunks", ABOUT, never)
    with Cache(tmp_path / "b", store=Store(url)) as cache:
        assert content(cache.folder("chunks", ABOUT, never)) == FILES


@pytest.mark.parametrize("harm", [*damage.damaged(b"x" * 400, 1, 1), b"", b"PK", None])
def test_what_is_damaged_in_the_store_is_made_anew_and_put_there_again(tmp_path, harm):
    store = Store(str(tmp_path / "store"))
    with Cache(tmp_path / "a", store=store) as cache:
        cache.folder("chunks", ABOUT, make)
    (packed,) = (tmp_path / "store" / "chunks").iterdir()
    whole = packed.read_bytes()
    packed.write_bytes(whole[:300] + b"\x00\x01" + whole[302:] if harm is None else harm)

    with Cache(tmp_path / "b", store=store) as cache:
        assert content(cache.folder("chunks", ABOUT, make)) == FILES
        assert cache.counted()["chunks"] == {"made": 1, "reused": 0}
    with Cache(tmp_path / "c", store=store) as cache:
        assert content(cache.folder("chunks", ABOUT, never)) == FILES


def test_an_artefact_whose_sums_do_not_fit_is_no_artefact(tmp_path):
    store = Store(str(tmp_path / "store"))
    with Cache(tmp_path / "a", store=store) as cache:
        folder = cache.folder("chunks", ABOUT, make)
    (packed,) = (tmp_path / "store" / "chunks").iterdir()
    packed.unlink()
    (folder / "one.bin").write_bytes(b"\x02" * 700)
    store.put(f"chunks/{folder.name}", folder)

    with Cache(tmp_path / "b", store=store) as cache:
        assert content(cache.folder("chunks", ABOUT, make)) == FILES


def test_a_process_that_is_killed_while_it_puts_leaves_nothing_that_is_half_there(tmp_path):
    damage.restored(tmp_path / "folder", FILES)
    with running(PUT, tmp_path / "store", tmp_path / "folder") as process:
        for _ in range(20):
            process.stdout.readline()
        kill(process)
    store = Store(str(tmp_path / "store"))
    names = [path.stem for path in (tmp_path / "store" / "chunks").glob("*.zip")]

    assert len(names) >= 20
    for name in names:
        into = tmp_path / "into" / name
        into.mkdir(parents=True)
        assert store.get(f"chunks/{name}", into, lambda: True)
        assert content(into) == FILES


def test_a_store_is_taken_away_whole(url, tmp_path):
    damage.restored(tmp_path / "folder", FILES)
    store = Store(url)
    store.put("chunks/one", tmp_path / "folder")
    store.remove()
    (tmp_path / "into").mkdir()

    assert not store.get("chunks/one", tmp_path / "into", lambda: True)
    assert list((tmp_path / "into").iterdir()) == []
    store.remove()


@pytest.mark.parametrize("url", ["nothing://x", "s4://bucket"])
def test_an_address_that_nobody_knows_is_refused(url):
    with pytest.raises(HarnessError, match=r"cannot be used: .*\n  name a folder"):
        Store(url)


def test_a_store_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("in the way")
    damage.restored(tmp_path / "folder", FILES)

    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        Store(str(tmp_path / "file")).put("chunks/one", tmp_path / "folder")


def test_rows_that_one_cache_recorded_another_adopts(tmp_path):
    with Cache(tmp_path / "a") as cache:
        cache.table("answers", str, ABOUT).put({"found": "one"})
    with Cache(tmp_path / "a", recording=("answers",)) as cache:
        table = cache.table("answers", str, ABOUT)
        table.get(["found"])
        table.put({"made": "two"})
        cache.table("scores", str, ABOUT).put({"other": "kind"})
        table.close()
        recorded = cache.recorded()
        assert cache.recorded()[0].rows == {}
    with Cache(tmp_path / "b") as cache:
        cache.adopt(recorded)
        table = cache.table("answers", str, ABOUT)
        assert table.get(["found", "made"]) == {"found": "one", "made": "two"}
        assert cache.table("scores", str, ABOUT).get(["other"]) == {}
