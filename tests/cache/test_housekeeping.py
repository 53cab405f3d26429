"""What lies in a cache and making room in it, by function and by command."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from harness.cache import users
from harness.cache.folders import MARK, VERSION, Cache
from harness.cache.housekeeping import entries, free
from harness.errors import HarnessError
from harness.text.quantities import format_size, parse_duration, parse_size
from tests.support import damage
from tests.support.processes import kill, running

HOUR = 3_600
USE = """
import sys
from pathlib import Path
from harness.cache.folders import Cache
with Cache(Path(sys.argv[1])) as cache:
    cache.folder("chunks", {"of": sys.argv[2]}, lambda folder: None)
    print("ready")
    sys.stdin.read()
"""
MAKE = USE.replace("lambda folder: None", "lambda folder: (print('making'), sys.stdin.read())")
EMBEDDER = {
    "name": "sentence_transformer",
    "version": 2,
    "model": "all-MiniLM-L6-v2",
    "weights": "0123456789abcdef0123456789abcdef",
    "normalise": True,
    "prompt": None,
}


@pytest.fixture
def root(tmp_path):
    return tmp_path / "cache"


def made(root, of, hours=0.0, bytes_=1_000):
    """Make an artefact that was last used some hours ago; returns its folder."""
    with Cache(root) as cache:
        folder = cache.folder(
            "chunks", {"of": of}, lambda folder: (folder / "x").write_bytes(b"x" * bytes_)
        )
    used(folder, hours)
    return folder


def used(folder, hours):
    then = datetime.now(UTC).timestamp() - hours * HOUR
    os.utime(folder, (then, then))


def names(of):
    return [entry.what for entry in of]


def test_each_artefact_is_listed_with_what_made_it_size_and_time(root):
    folder = made(root, "moon", hours=3)
    (entry,) = entries(root)

    assert (entry.kind, entry.name, entry.what) == ("chunks", folder.name, "of moon")
    assert entry.size == sum(len(raw) for raw in damage.files(folder).values()) > 1_000
    assert abs(datetime.now(UTC) - timedelta(hours=3) - entry.used) < timedelta(minutes=1)
    assert entry.used.tzinfo is UTC
    assert (entry.in_use, entry.rows, entry.left) == (False, None, False)


def test_what_made_it_is_said_without_hashes(root):
    about = {"corpus": "0123456789abcdef", "embedder": EMBEDDER, "retrieve": 50, "exact": False}
    with Cache(root) as cache:
        cache.table("vectors", bytes, about)
    (entry,) = entries(root)

    assert entry.what == (
        "embedder sentence_transformer(model=all-MiniLM-L6-v2, normalise=true), "
        "retrieve 50, exact false"
    )


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "what made it is not readable"),
        (b"\xff\xfe", "what made it is not readable"),
        (b"[" * 100_000, "what made it is not readable"),
        (b"{}", "no more is said"),
        (b'["\\u001b[31m\\u202e red\\n", [[1]]]', "[31m red , 1"),
        (b'"' + b"x" * 9_000 + b'"', "x" * 300),
    ],
)
def test_damage_to_what_made_it_harms_nobody(root, raw, said):
    folder = made(root, "moon")
    (folder / "about.json").write_bytes(raw)

    assert names(entries(root)) == [said]


def test_rows_are_counted_and_that_is_no_use_of_them(root):
    with Cache(root) as cache:
        cache.table("vectors", bytes, {}).put({str(n): b"x" for n in range(7)})
    (folder,) = (root / "vectors").iterdir()
    used(folder, 5)
    before = folder.stat().st_mtime_ns

    assert [entry.rows for entry in entries(root)] == [7]
    assert folder.stat().st_mtime_ns == before
    assert entries(root)[0].used == entries(root)[0].used
    (folder / "rows.db").write_bytes(damage.garbage(1))
    assert [entry.rows for entry in entries(root)] == [None]


def test_rows_that_a_run_is_using_are_not_counted(root):
    with Cache(root) as cache:
        cache.table("vectors", bytes, {}).put({"key": b"x"})
        (entry,) = entries(root)
        assert (entry.rows, entry.in_use) == (None, True)


def test_the_list_goes_by_kind_and_then_by_last_use(root):
    for of, hours in (("old", 9), ("new", 1), ("middle", 5)):
        made(root, of, hours)
    with Cache(root) as cache:
        cache.table("answers", bytes, {"generator": "chat"})

    assert names(entries(root)) == ["generator chat", "of new", "of middle", "of old"]


def test_a_folder_that_is_not_there_or_empty_holds_nothing(root):
    assert entries(root) == []
    root.mkdir()
    assert entries(root) == []
    assert free(root, timedelta(0), 0).deleted == ()


def test_what_was_not_used_for_long_is_deleted(root):
    folders = {of: made(root, of, hours) for of, hours in (("a", 30), ("b", 20), ("c", 1))}
    freed = free(root, older_than=timedelta(hours=10))

    assert names(freed.deleted) == ["of a", "of b"]
    assert [each.exists() for each in folders.values()] == [False, False, True]
    assert freed.size == sum(entry.size for entry in freed.deleted)
    assert freed.remaining == entries(root)[0].size
    assert (freed.in_use, freed.failed) == ((), ())
    assert not list(root.glob(f"**/{users.HIDDEN}*"))


def test_to_save_room_what_was_not_used_for_longest_goes_first(root):
    for of, hours in (("a", 4), ("b", 3), ("c", 2), ("d", 1)):
        made(root, of, hours, bytes_=10_000)
    each = entries(root)[0].size
    freed = free(root, down_to=2 * each)

    assert names(freed.deleted) == ["of a", "of b"]
    assert freed.remaining == 2 * each
    assert names(free(root, down_to=2 * each).deleted) == []
    assert names(free(root, down_to=2 * each - 1).deleted) == ["of c"]
    assert names(free(root, down_to=0).deleted) == ["of d"]


def test_both_limits_hold(root):
    for of, hours in (("a", 40), ("b", 30), ("c", 2), ("d", 1)):
        made(root, of, hours)
    each = entries(root)[0].size

    assert names(free(root, timedelta(hours=10), each).deleted) == ["of a", "of b", "of c"]


def test_a_dry_run_says_what_would_be_deleted_and_deletes_nothing(root):
    for of, hours in (("a", 40), ("b", 30), ("c", 2)):
        made(root, of, hours)
    before = damage.files(root)
    would = free(root, timedelta(hours=10), dry_run=True)

    assert damage.files(root) == before
    assert free(root, timedelta(hours=10)) == would
    assert names(would.deleted) == ["of a", "of b"]


def test_what_another_process_uses_is_kept_until_that_is_gone(root):
    folder = made(root, "moon", hours=99)
    with running(USE, root, "moon") as process:
        freed = free(root, timedelta(0), 0)
        assert (names(freed.deleted), names(freed.in_use)) == ([], ["of moon"])
        assert freed.remaining == freed.in_use[0].size
        assert (folder / "x").is_file()
        kill(process)
    used(folder, 99)

    assert names(free(root, timedelta(hours=1)).deleted) == ["of moon"]
    assert not folder.exists()


def test_what_a_killed_process_left_is_deleted_and_what_one_is_making_is_not(root):
    with running(MAKE, root, "moon") as process:
        assert names(entries(root)) == ["being made"]
        freed = free(root, timedelta(days=30))
        assert (freed.deleted, freed.in_use) == ((), ())
        kill(process)
    assert names(entries(root)) == ["left by a process that was killed"]

    assert names(free(root, timedelta(days=30)).deleted) == ["left by a process that was killed"]
    assert entries(root) == []


def test_what_was_not_used_since_the_first_live_process_began_is_deleted_beside_it(root):
    made(root, "old", hours=1)
    with running(USE, root, "moon"):
        freed = free(root, timedelta(0), 0)

    assert (names(freed.deleted), names(freed.in_use)) == (["of old"], ["of moon"])


def test_a_folder_named_by_mistake_loses_nothing(root):
    files = {
        "models/mine/weights.bin": b"1",
        "src/0123456789abcdef/file": b"2",
        "index/mine/built.json": b"3",
        "index/0123456789abcdef/file": b"4",
        "notes.txt": b"5",
    }
    damage.restored(root, files)
    with pytest.raises(HarnessError, match=r"is not a cache of the harness: .* no cache\.json"):
        free(root, timedelta(0), 0)
    with pytest.raises(HarnessError, match="is not a cache: it is not a folder"):
        free(root / "notes.txt", timedelta(0), 0)
    assert damage.files(root) == files

    made(root, "moon")  # it has become a cache as well
    del files["src/0123456789abcdef/file"], files["index/0123456789abcdef/file"]
    free(root, timedelta(0), 0)
    assert files.items() <= damage.files(root).items()


def test_what_lies_behind_a_link_is_left_alone(root, tmp_path):
    damage.restored(tmp_path / "elsewhere" / "0123456789abcdef", {"file": b"mine"})
    folder = made(root, "moon")
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    (folder / "link").symlink_to(tmp_path / "elsewhere")

    assert names(free(root, down_to=0).deleted) == ["of moon"]
    assert damage.files(tmp_path / "elsewhere") == {"0123456789abcdef/file": b"mine"}


def test_a_cache_of_a_newer_version_is_left_alone(root):
    folder = made(root, "moon")
    (root / MARK).write_text(json.dumps({"version": VERSION + 1}))
    for call in (entries, lambda root: free(root, down_to=0)):
        with pytest.raises(HarnessError, match="newer version"):
            call(root)
    assert folder.exists()


def test_ls_shows_a_table_that_fits_the_terminal(root, cli):
    made(root, "moon " * 60, hours=1)
    with Cache(root) as cache:
        cache.table("vectors", bytes, {"embedder": "hashing"}).put({"key": b"x" * 2_000_000})
    used(next((root / "vectors").iterdir()), 1)
    with Cache(root) as cache:
        cache.folder("chunks", {"of": "mars"}, lambda folder: None)
        said = cli("cache", "ls", "--cache", root)
    lines = said.out.splitlines()

    assert (said.status, said.err) == (0, "")
    assert 90 < max(map(len, lines)) <= 100
    assert lines[0].split() == ["kind", "size", "last", "used", "(UTC)", "what", "made", "it"]
    assert any("in use: of mars" in line for line in lines)
    assert any(line.endswith("1 row: embedder hashing") for line in lines)
    assert any(line.split()[::3] == ["chunks", "2"] and line.endswith(" 1") for line in lines)
    assert lines[-1].split()[0] == "all"
    assert lines[-1].split()[-2:] == ["3", "1"]


def test_ls_and_gc_print_json(root, cli):
    folder = made(root, "moon", hours=50)
    (listed,) = json.loads(cli("cache", "ls", "--cache", root, "--json").out)
    gone = json.loads(cli("cache", "gc", "--cache", root, "--older-than", "2d", "--json").out)

    assert listed.keys() == {"kind", "name", "what", "size", "used", "in_use", "rows"}
    assert (listed["name"], listed["what"]) == (folder.name, "of moon")
    assert datetime.fromisoformat(listed["used"]).utcoffset() == timedelta(0)
    assert gone == {
        "dry_run": False,
        "freed": listed["size"],
        "left": 0,
        "deleted": [listed],
        "in_use": [],
        "failed": [],
    }
    assert json.loads(cli("cache", "ls", "--cache", root, "--json").out) == []


def test_gc_says_what_it_deleted_and_what_it_kept(root, cli):
    made(root, "moon", hours=50)
    made(root, "mars", hours=60)
    with Cache(root) as cache:
        cache.folder("chunks", {"of": "mars"}, lambda folder: None)
        dry = cli("cache", "gc", "--max-size", "0B", "--dry-run", "--cache", root).out
        said = cli("cache", "gc", "--max-size", "0B", "--cache", root)

    assert [dry.splitlines()[0], said.out.splitlines()[0]] == ["would be deleted:", "deleted:"]
    assert dry.splitlines()[1:4] == said.out.splitlines()[1:4]
    kept = said.out.split("kept, because a run is using it:\n")[1].splitlines()
    assert kept[1].startswith("chunks ")
    assert said.out.splitlines()[-1].endswith(" left")
    assert " freed, " in said.out.splitlines()[-1]
    assert (said.status, said.err) == (0, "")


@pytest.mark.parametrize("how", ["option", "environment", "default"])
def test_the_cache_is_found(root, cli, monkeypatch, tmp_path, how):
    monkeypatch.chdir(tmp_path)
    if how == "default":
        root = tmp_path / ".harness"
    made(root, "moon")
    if how == "environment":
        monkeypatch.setenv("HARNESS_CACHE", str(root))
    given = ["--cache", root] if how == "option" else []

    assert "of moon" in cli("cache", "ls", *given).out


def test_no_cache_yet_is_no_mistake_but_a_wrong_name_is(cli, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cli("cache", "ls").out == "nothing is cached in '.harness'\n"
    assert cli("cache", "gc", "--older-than", "1d").status == 0
    assert list(tmp_path.iterdir()) == []
    said = cli("cache", "ls", "--cache", "elsewhere")

    assert (said.status, said.out) == (2, "")
    assert said.err.startswith("cache 'elsewhere' is not there\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing says what to delete\n  name one or both: --older-than 30d, --max-size 5GB"),
        (["--older-than", "30"], "'30' is not a duration\n  write it like 12h, 30d or 4w"),
        (["--max-size", "5 giga"], "'5 giga' is not a size\n  write it like 500MB or 5GB"),
        (["--max-size", "5d"], "'5d' is not a size\n  write it like 500MB or 5GB"),
    ],
)
def test_gc_refuses_what_it_does_not_understand(root, cli, arguments, message):
    folder = made(root, "moon", hours=999)
    said = cli("cache", "gc", "--cache", root, *arguments)

    assert (said.status, said.out, said.err) == (2, "", f"{message}\n")
    assert folder.exists()


@pytest.mark.parametrize(
    ("text", "hours"), [("12h", 12), ("30d", 720), ("4W", 672), (" 1.5 d ", 36), ("0h", 0)]
)
def test_durations_are_read(text, hours):
    assert parse_duration(text) == timedelta(hours=hours)


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("500MB", 5 * 10**8), ("5gb", 5 * 10**9), ("1.5 KB", 1_500), ("7B", 7), ("1TB", 10**12)],
)
def test_sizes_are_read(text, bytes_):
    assert parse_size(text) == bytes_


@pytest.mark.parametrize(
    "text",
    [
        "",
        "d",
        "-1d",
        "1e3d",
        "nan d",
        "inf d",
        "٣d",
        "1d2",
        "1 day",
        "9" * 400 + "d",
        "99999999999d",
    ],
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(HarnessError):
        parse_duration(text)


@pytest.mark.parametrize("text", ["", "GB", "5", "-5GB", "5GiB", "1,5GB", "9" * 400 + "B"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(HarnessError):
        parse_size(text)


@pytest.mark.parametrize(
    ("bytes_", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 KB"),
        (99_940, "99.9 KB"),
        (99_960, "100 KB"),
        (999_600, "1.0 MB"),
        (1_234_567, "1.2 MB"),
        (5 * 10**9, "5.0 GB"),
        (12_345 * 10**12, "12,345 TB"),
    ],
)
def test_sizes_are_shown_in_the_unit_that_suits_them(bytes_, shown):
    assert format_size(bytes_) == shown
