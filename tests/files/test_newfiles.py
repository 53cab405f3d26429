"""Files written where the user said: links, permissions, and what is no file at all."""

import os
import stat

import pytest

from harness.draft.acceptance import accept
from harness.errors import HarnessError
from harness.files.new_files import check_new, write_file


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_behind_a_link_the_file_is_written_and_the_link_stays(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_text("old")
    (tmp_path / "link").symlink_to("real/a.txt")
    (tmp_path / "ahead").symlink_to("real/new.txt")

    write_file(tmp_path / "link", "new")
    write_file(tmp_path / "ahead", "first")

    assert (tmp_path / "link").readlink() == (tmp_path / "real" / "a.txt").relative_to(tmp_path)
    assert (tmp_path / "real" / "a.txt").read_text() == "new"
    assert (tmp_path / "real" / "new.txt").read_text() == "first"
    assert sorted(os.listdir(tmp_path / "real")) == ["a.txt", "new.txt"]


def test_who_may_read_a_file_stays_as_it_was(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o600)

    write_file(path, "new")
    write_file(tmp_path / "other.txt", "new")

    assert (path.read_text(), mode(path)) == ("new", 0o600)
    assert mode(tmp_path / "other.txt") == 0o644


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", ["pipe", "folder", "link to a pipe", "link to itself"])
def test_what_is_there_and_is_no_file_is_refused_and_stays(tmp_path, kind, force):
    path = tmp_path / "there"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to("pipe" if kind == "link to a pipe" else "there")
    before = path.lstat()

    for write in (lambda: check_new([path], force), lambda: write_file(path, "text")):
        with pytest.raises(HarnessError) as caught:
            write()
        assert str(caught.value) == f"{str(path)!r} is there, and is no file\n  name another"
    assert path.lstat() == before


def test_a_file_that_is_there_is_replaced_only_when_told(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    with pytest.raises(HarnessError, match="is there already"):
        check_new([tmp_path / "new.txt", path], False)
    check_new([path], True)


def test_accepting_drafts_keeps_links_and_permissions(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text('{"id": "a", "question": "A?", "draft": true}\n')
    path.chmod(0o640)
    (tmp_path / "link.jsonl").symlink_to("set.jsonl")

    accept(tmp_path / "link.jsonl", None)

    assert (tmp_path / "link.jsonl").is_symlink()
    assert (path.read_text(), mode(path)) == ('{"id": "a", "question": "A?"}\n', 0o640)
