"""An index whose building was broken off is gone on with, and what is wrong in it is never used."""

import pickle
import shutil
from contextlib import suppress

import numpy as np
import pytest

from harness import checksums, index
from harness.cache import Cache
from harness.errors import HarnessError, RunError, StageError
from harness.housekeeping import entries, free
from harness.index import IndexSettings, begun, open_or_build
from harness.index.chroma import steps
from tests import disks
from tests.given import Given, numbered, texts_of, unit

TOTAL, SIZE = 1_000, 334
"""Three batches, the last of them two smaller."""
VECTORS = unit(TOTAL, dimensions=4)
EXACT = IndexSettings(exact=True)


class Unkept(Given):
    """A `Given` whose vectors are not kept from run to run."""

    kept = False


@pytest.fixture(autouse=True, scope="module")
def _small_batches():
    """Have a copy made behind each batch but the last."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_ADDED", 350)
        patch.setattr(index, "STRETCH", 350)
        yield


def build(root, breaks_at=None, **options):
    """Build the index, or break off; returns it, what was embedded and what was told."""
    embedder, told = Unkept(VECTORS, breaks_at=breaks_at), []
    settings = options.pop("settings", IndexSettings())
    with Cache(root, **options) as cache:
        try:
            made = open_or_build(cache, numbered(VECTORS), embedder, settings, told.append)
        except StageError:
            made = None
    return made, [int(text) for text in texts_of(embedder)], told


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A cache in which the index was broken off with two of its three batches there."""
    root = tmp_path_factory.mktemp("broken")
    made, embedded, _ = build(root, breaks_at=900)
    assert made is None
    assert embedded[0] == 0
    return root


@pytest.fixture
def root(broken, tmp_path):
    """A copy of that cache."""
    return shutil.copytree(broken, tmp_path / "cache")


def place(root):
    (found,) = (root / begun.KIND).iterdir()
    return found


def whole(made):
    """Return whether an index has every vector, in its file and in Chroma."""
    asked = list(range(0, TOTAL, 7))
    found = made.nearest(VECTORS[asked], 1)
    right = [near[0].chunk for near in found] == asked
    return right and np.array_equal(made.vectors(range(TOTAL)), VECTORS)


def test_only_what_was_not_there_yet_is_embedded_and_nothing_is_left_over(root):
    made, embedded, told = build(root)

    assert embedded == list(range(2 * SIZE, TOTAL))
    assert told == [2 * SIZE, TOTAL]
    assert whole(made)
    assert (made.built.chunks, made.built.truncated) == (TOTAL, 100)
    assert list((root / begun.KIND).iterdir()) == []
    (folder,) = (root / index.KIND).iterdir()
    names = {each.name for each in folder.iterdir()}
    assert names == {"about.json", "built.json", "chroma", "sums.json", "vectors.npy"}


def test_a_batch_that_is_in_the_file_and_not_in_chroma_is_added_and_not_embedded(root):
    third = VECTORS[2 * SIZE :]
    with (place(root) / "vectors.npy").open("ab") as file:
        file.write(third.astype("<f4").tobytes())
    begun.note(place(root), third, truncated=34)

    made, embedded, _ = build(root)

    assert embedded == []
    assert whole(made)
    assert made.built.truncated == 101


def test_vectors_without_a_line_in_the_log_are_embedded_again(root):
    with (place(root) / "vectors.npy").open("ab") as file:
        file.write(b"half a batch")

    made, embedded, _ = build(root)

    assert embedded == list(range(2 * SIZE, TOTAL))
    assert whole(made)


@pytest.mark.parametrize("damage", ["vectors", "log"])
def test_what_is_damaged_at_its_beginning_is_begun_anew(root, damage):
    if damage == "vectors":
        with (place(root) / "vectors.npy").open("r+b") as file:
            file.seek(1_000)
            file.write(b"\x00" * 64)
    else:
        (place(root) / "batches.jsonl").write_text("[1]\n")

    made, embedded, _ = build(root)

    assert embedded == list(range(TOTAL))
    assert whole(made)


def graph_of(folder):
    (found,) = folder.glob("chroma/*/link_lists.bin")
    return found


@pytest.mark.parametrize("damage", ["gone", "sqlite", "graph"])
def test_the_collection_that_was_open_at_the_kill_is_never_opened_again(root, damage):
    folder = place(root)
    if damage == "gone":
        shutil.rmtree(folder / "chroma")
    elif damage == "sqlite":
        (folder / "chroma" / "chroma.sqlite3").write_bytes(b"not a database" * 100)
    else:  # lengths of lists that Chroma believes: it would write as much to the disk
        graph_of(folder).write_bytes(b"\xff" * 1_000)

    made, embedded, _ = build(root)

    assert embedded == list(range(2 * SIZE, TOTAL))
    assert whole(made)


def copy_of(root):
    """Return the one copy that is left, which is the last."""
    (found,) = place(root).glob("kept-*")
    assert found.name == "kept-668"
    return found


def test_it_is_the_copy_that_is_gone_on_with(root):
    # A vector that only the copy has: whoever began anew would not find it.
    (graph,) = copy_of(root).glob("chroma/*/data_level0.bin")
    raw = graph.read_bytes()
    first = next(at for at, each in enumerate(map(bytes, VECTORS[:SIZE])) if each in raw)
    # Chroma makes their lengths 1 once more, which changes the last bits of some.
    graph.write_bytes(raw.replace(bytes(VECTORS[first]), bytes(-VECTORS[first])))
    checksums.write(copy_of(root), {})

    made, _, _ = build(root)

    assert made.nearest(VECTORS[[first]], 1)[0][0].chunk != first


@pytest.mark.parametrize("damage", ["byte", "file", "sums", "name", "newer"])
def test_a_copy_that_is_not_as_it_was_is_made_again_of_the_vectors(root, damage):
    copy = copy_of(root)
    if damage == "byte":
        raw = bytearray(graph_of(copy).read_bytes())
        raw[-1] ^= 1
        graph_of(copy).write_bytes(raw)
    elif damage == "file":
        graph_of(copy).unlink()
    elif damage == "sums":  # it was killed while it copied
        (copy / "sums.json").unlink()
    elif damage == "name":
        copy.rename(copy.with_name("kept-334"))
    else:  # it has a batch of which the log knows nothing
        begun.cut(place(root), 1)

    made, embedded, _ = build(root)

    assert embedded == list(range(SIZE if damage == "newer" else 2 * SIZE, TOTAL))
    assert whole(made)


@pytest.mark.parametrize(
    ("rows", "size", "stretch", "last"),
    [
        (4, 4, 4, 4),
        (5_001, 2_501, 5_002, 5_001),
        (100_000, 5_000, 100_000, 100_000),
        # 3 stretches of 17 batches: 250,001 / 51 rounded up, times 17; and what two of them leave.
        (250_001, 4_902, 83_334, 83_333),
        (1_000_000, 5_000, 100_000, 100_000),
    ],
)
def test_the_last_batch_of_a_stretch_is_the_one_that_fills_it(rows, size, stretch, last):
    found = steps(rows, 5_000, 100_000)

    assert (found.size, found.stretch, found.last) == (size, stretch, last)
    # Chroma writes its graph at `last` vectors: not a batch sooner, and at the very end.
    assert stretch - size < last <= stretch
    assert [found.ends_stretch(each) for each in (stretch, rows)] == [stretch < rows, False]


HEADER = [
    (b"<f4", b"<i4"),
    (b"<f4", b">f4"),
    (b"(1000, 4)", b"( 900, 4)"),
    (b"(1000, 4)", b"(3000, 4)"),
    (b"(1000, 4)", b"(1000, 2)"),
    (b"NUMPY\x01", b"NUMPY\x02"),
]
LINE = [
    (b'"truncated": 33', b'"truncated": 93'),
    (b'"truncated": 33', b'"truncated":"3"'),
    (b'"truncated": 33', b'"truncated": .3'),
]
FIRST = [
    (b'"rows": 334', b'"rows": 3e4'),
    (b'"rows": 334', b'"rows":"33"'),
    (b'"rows": 334', b'"rows": -34'),
    (b'"rows": 334', b'"rows": 933'),
    (b'"dimensions": 4', b'"dimensions": 0'),
    (b'"dimensions": 4', b'"dimensions": 8'),
]


@pytest.fixture(scope="module")
def broken_exact(tmp_path_factory):
    """A cache in which an index for exact search was broken off in the same place."""
    root = tmp_path_factory.mktemp("exact")
    build(root, breaks_at=900, settings=EXACT)
    return root


@pytest.fixture
def exact_root(broken_exact, tmp_path):
    """A copy of that cache."""
    return shutil.copytree(broken_exact, tmp_path / "cache")


def replace(path, old, new):
    """Put other bytes in the place of the last of those."""
    head, found, tail = path.read_bytes().rpartition(old)
    assert found == old
    path.write_bytes(head + new + tail)


@pytest.mark.parametrize(("old", "new"), HEADER)
def test_vectors_under_a_damaged_header_are_never_used(exact_root, old, new):
    replace(place(exact_root) / "vectors.npy", old, new)

    made, embedded, _ = build(exact_root, settings=EXACT)

    assert embedded == list(range(TOTAL))
    assert whole(made)
    assert made.vectors([0]).dtype == np.float32


@pytest.mark.parametrize(("old", "new"), LINE)
def test_behind_a_damaged_line_of_the_log_all_is_made_again(exact_root, old, new):
    replace(place(exact_root) / "batches.jsonl", old, new)

    made, embedded, _ = build(exact_root, settings=EXACT)

    assert embedded == list(range(SIZE, TOTAL))
    assert whole(made)
    assert made.built.truncated == 100


@pytest.mark.parametrize(("old", "new"), FIRST)
def test_odd_numbers_in_the_log_are_begun_anew(exact_root, old, new):
    log = place(exact_root) / "batches.jsonl"
    log.write_bytes(log.read_bytes().replace(old, new))

    made, embedded, _ = build(exact_root, settings=EXACT)

    assert embedded == list(range(TOTAL))
    assert whole(made)
    assert made.built.truncated == 100


def test_what_was_written_behind_a_damaged_line_is_gone_on_with(exact_root):
    replace(place(exact_root) / "batches.jsonl", b'"truncated": 33', b'"truncated": 93')
    _, second, _ = build(exact_root, breaks_at=900, settings=EXACT)
    made, third, _ = build(exact_root, settings=EXACT)

    assert second == list(range(SIZE, TOTAL))
    assert third == list(range(2 * SIZE, TOTAL))
    assert whole(made)
    assert made.built.truncated == 100


def test_one_batch_that_breaks_off_again_and_again_costs_no_other(root):
    for _ in range(5):
        _, embedded, _ = build(root, breaks_at=900)
        assert embedded == list(range(2 * SIZE, TOTAL))

    made, embedded, _ = build(root)

    assert embedded == list(range(2 * SIZE, TOTAL))
    assert whole(made)


def test_an_index_that_cannot_be_asked_ends_the_run_in_words(root):
    (path,) = copy_of(root).glob("chroma/*/index_metadata.pickle")
    kept = pickle.loads(path.read_bytes())
    # Vectors are read by what stands in the other direction.
    kept["label_to_id"] = {}
    path.write_bytes(pickle.dumps(kept))
    checksums.write(copy_of(root), {})

    made, _, _ = build(root)
    with pytest.raises(RunError, match=r"cannot read the index: .*\n  .*--fresh"):
        whole(made)


def test_with_fresh_nothing_is_gone_on_with(root):
    made, embedded, _ = build(root, fresh=True)

    assert embedded == list(range(TOTAL))
    assert whole(made)


def test_other_settings_are_another_index_and_leave_it_alone(root):
    made, embedded, _ = build(root, settings=EXACT)

    assert embedded == list(range(TOTAL))
    assert whole(made)
    assert len(list((root / begun.KIND).iterdir())) == 1


def test_exact_search_is_gone_on_with_too(tmp_path):
    build(tmp_path, breaks_at=900, settings=EXACT)

    made, embedded, _ = build(tmp_path, settings=EXACT)

    assert embedded == list(range(2 * SIZE, TOTAL))
    assert whole(made)


def test_while_another_process_builds_the_same_one_builds_apart(root):
    lock = begun.locks.alone(place(root))
    try:
        made, embedded, _ = build(root)
    finally:
        lock.release()

    assert embedded == list(range(TOTAL))
    assert whole(made)
    assert place(root).is_dir()


def test_what_was_begun_is_listed_in_the_cache_and_makes_room(root):
    (entry,) = (each for each in entries(root) if each.kind == begun.KIND)
    assert not entry.left
    assert entry.size > 2 * SIZE * 16

    freed = free(root, down_to=0)

    assert place_names(root) == []
    assert entry.path in {each.path for each in freed.deleted}


def place_names(root):
    return [each.name for each in (root / begun.KIND).iterdir()]


@pytest.mark.parametrize("size", ["300k", "500k", "700k"])
def test_on_a_full_disk_it_ends_in_order_and_with_room_goes_on(tmp_path, size):
    with disks.small(tmp_path / "disk", size) as disk:
        with suppress(RunError, HarnessError, OSError):
            build(disk)
        disks.enlarge(disk)
        made, _, _ = build(disk)
        assert whole(made)
        del made


def test_without_room_for_copies_an_index_is_built_without_them(tmp_path):
    # It takes some 600 KB, and as much for each of two copies.
    with disks.small(tmp_path / "disk", "1m") as disk:
        made, _, _ = build(disk)
        assert whole(made)
        del made
