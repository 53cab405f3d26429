"""The checksums of a stored run, and files of it that are replaced together."""

import json
import os

import pytest

from harness import locks, rewriting, sealed, stamped, store
from harness.errors import DataError, RunError
from harness.gate import pooling
from harness.history import pastruns
from harness.report import digest
from tests import small
from tests.damage import unsealed
from tests.killed_verbs import kill_verb


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return small.stored(tmp_path_factory.mktemp("made"), chunkers=["markdown"], retrievers=["bm25"])


@pytest.fixture
def run(made, tmp_path):
    folder = tmp_path / made.folder.name
    folder.mkdir()
    for path in made.folder.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    return folder


def changed(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def said(folder):
    with pytest.raises(DataError) as caught:
        store.load(folder)
    return [(each.where, each.what) for each in caught.value.problems]


def test_every_file_that_a_run_is_made_of_has_its_checksum(run):
    names = {store.RUN, store.RECORDS, store.QUESTIONS, store.TEXTS, store.DOCUMENTS, store.ORACLE}

    assert names < {*sealed.FILES}
    sums = json.loads((run / sealed.NAME).read_text())
    assert list(sums) == ["run.json", "records.jsonl", "questions.jsonl", "texts.jsonl"]
    assert sums == sealed.sums(run)


def test_a_digit_that_was_changed_is_said_by_every_reader(run):
    changed(run / "run.json", '"mean": 1.0', '"mean": 0.9')
    what = "is not as it was written: damaged, or changed by hand"

    assert said(run) == [("run.json", what)]
    assert pastruns.read(run.parent)[1][0].what == f"run.json {what}"
    (run / "report.json").unlink()
    assert digest.read(run) is None


def test_a_changed_record_a_missing_file_and_one_that_came_are_told_apart(run):
    (run / "records.jsonl").write_bytes((run / "records.jsonl").read_bytes() + b" ")
    (run / "texts.jsonl").unlink()
    (run / "ratings.jsonl").write_text("")

    assert said(run) == [
        ("records.jsonl", "is not as it was written: damaged, or changed by hand"),
        ("texts.jsonl", "is not there"),
        ("ratings.jsonl", "is not among the checksums in sums.json"),
    ]


@pytest.mark.parametrize("content", ["", "[]", '{"run.json": 1}', '{"other": "x"}', "[" * 100_000])
def test_damaged_checksums_are_said_with_what_reads_the_run_all_the_same(run, content):
    (run / sealed.NAME).write_text(content)

    assert ("sums.json", "is damaged") in said(run)
    with pytest.raises(DataError, match=r"delete sums\.json"):
        store.load(run)
    unsealed(run)
    assert store.load(run).run.status == "finished"


def test_an_older_run_without_checksums_is_read_and_gets_them_when_it_is_changed(run):
    unsealed(run)
    store.load(run)
    with rewriting.alone(run):
        rewriting.replace(run, {"records.jsonl": [(run / "records.jsonl").read_text("utf-8")]})

    assert sealed.wanted(run) == sealed.sums(run)


def test_what_a_kill_left_between_the_checksums_and_the_files_is_finished_by_a_reader(run):
    new = (run / "records.jsonl").read_text("utf-8") + "\n"
    old = (run / "records.jsonl").read_text("utf-8")
    with rewriting.alone(run):
        rewriting.replace(run, {"records.jsonl": [new]})
    sum_ = sealed.wanted(run)["records.jsonl"]
    os.replace(run / "records.jsonl", sealed.staged(run, "records.jsonl", sum_))
    (run / "records.jsonl").write_text(old, "utf-8")

    sealed.check(run)
    assert (run / "records.jsonl").read_text("utf-8") == new
    assert sealed.read(run, "records.jsonl") == new.encode()


def test_what_a_kill_left_before_the_checksums_changes_nothing_and_is_swept(run):
    left = sealed.staged(run, "run.json", "0123456789")
    left.write_text("half")

    assert store.load(run).run.status == "finished"
    with rewriting.alone(run):
        rewriting.replace(run, {"ratings.jsonl": []})
    assert not left.exists()


def test_a_run_that_another_process_is_writing_is_not_written(run):
    lock = locks.shared(run)
    with (
        pytest.raises(RunError, match="is being written by another process"),
        rewriting.alone(run, patience=0.0),
    ):
        pass
    lock.release()
    with rewriting.alone(run, patience=0.0):
        pass


def test_a_digest_of_scores_that_were_replaced_is_not_shown(run):
    assert digest.read(run).score is not None
    with rewriting.alone(run):
        rewriting.replace(run, {"run.json": [(run / "run.json").read_text("utf-8") + "\n"]})

    assert digest.read(run).score is None


def test_a_stamp_holds_for_any_spaces_and_not_for_another_order_or_digit():
    data = stamped.stamped({"a": {"x": 1, "y": 0.5}, "b": [1, 2]})

    assert stamped.problem(json.loads(json.dumps(data, indent=3))) == ""
    assert stamped.problem({"a": 1}) == ""
    what = "is not as it was written: damaged, or changed by hand"
    assert stamped.problem({**data, "b": [2, 2]}) == what
    assert stamped.problem({**data, "a": {"y": 0.5, "x": 1}}) == what


def test_a_damaged_run_beside_a_sampled_one_is_named_among_those_left_out(tmp_path):
    one = small.stored(tmp_path, sample=2, chunkers=["markdown"], retrievers=["bm25"]).folder
    two = small.stored(tmp_path, sample=2, chunkers=["markdown"], retrievers=["bm25"]).folder
    changed(one / "run.json", '"size": 2', '"size": 3')

    assert pooling.pooled(two).left_out == (f"{one.name}, which is damaged",)


def test_a_kill_in_the_midst_of_replacing_leaves_the_old_run_or_the_new_one(tmp_path):
    assert kill_verb("replace", tmp_path, kills=6, seed=1) == []
