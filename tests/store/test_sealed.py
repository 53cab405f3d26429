"""The checksums of a stored run, and files of it that are replaced together."""

import json
import os
from itertools import count

import pytest

from harness import report
from harness.comparison.gate import pooling
from harness.comparison.history import past_runs
from harness.errors import DataError, RunError
from harness.files import checksums, locks
from harness.files.atomic import write_atomically
from harness.people import ratings
from harness.report import run_index
from harness.report.run_view import View
from harness.store import integrity, reader, rewriting
from harness.store.run_file import RUN_FORMAT, QuestionSample
from tests.support import small
from tests.support.damage import unsealed
from tests.support.killed_verbs import kill_verb


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return small.stored(folder, chunkers=["markdown"], retrievers=["bm25"], seed=2**60 + 1)


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
        reader.load(folder)
    return [(each.where, each.what) for each in caught.value.problems]


def test_every_file_that_a_run_is_made_of_has_its_checksum(run):
    names = {
        reader.RUN,
        reader.RECORDS,
        reader.QUESTIONS,
        reader.TEXTS,
        reader.DOCUMENTS,
        reader.ORACLE,
    }

    assert names < {*integrity.FILES}
    sums = json.loads((run / integrity.NAME).read_text())
    assert list(sums) == ["run.json", "records.jsonl", "questions.jsonl", "texts.jsonl"]
    assert sums == integrity.compute_sums(run)


def test_a_digit_that_was_changed_is_said_by_every_reader(run):
    changed(run / "run.json", '"mean": 1.0', '"mean": 0.9')
    what = "is not as it was written: damaged, or changed by hand"

    assert said(run) == [("run.json", what)]
    assert past_runs.read_runs(run.parent)[1][0].what == f"run.json {what}"
    (run / "report.json").unlink()
    assert run_index.read_digest(run) is None


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
    (run / integrity.NAME).write_text(content)

    assert ("sums.json", "is damaged") in said(run)
    with pytest.raises(DataError, match=r"delete sums\.json"):
        reader.load(run)
    unsealed(run)
    assert reader.load(run).run.status == "finished"


def test_an_older_run_without_checksums_is_read_and_gets_them_when_it_is_changed(run):
    unsealed(run)
    reader.load(run)
    with rewriting.lock_run(run):
        rewriting.replace(run, {"records.jsonl": [(run / "records.jsonl").read_text("utf-8")]})

    assert integrity.read_sums(run) == integrity.compute_sums(run)


def test_what_a_kill_left_between_the_checksums_and_the_files_is_finished_by_a_reader(run):
    new = (run / "records.jsonl").read_text("utf-8") + "\n"
    old = (run / "records.jsonl").read_text("utf-8")
    with rewriting.lock_run(run):
        rewriting.replace(run, {"records.jsonl": [new]})
    sum_ = integrity.read_sums(run)["records.jsonl"]
    os.replace(run / "records.jsonl", integrity.staged_path(run, "records.jsonl", sum_))
    (run / "records.jsonl").write_text(old, "utf-8")

    integrity.check(run)
    assert (run / "records.jsonl").read_text("utf-8") == new
    assert integrity.read(run, "records.jsonl") == new.encode()


def test_what_a_kill_left_before_the_checksums_changes_nothing_and_is_swept(run):
    left = integrity.staged_path(run, "run.json", "0123456789")
    left.write_text("half")

    assert reader.load(run).run.status == "finished"
    with rewriting.lock_run(run):
        rewriting.replace(run, {"ratings.jsonl": []})
    assert not left.exists()


def test_a_run_that_another_process_is_writing_is_not_written(run):
    lock = locks.lock(run / locks.FOLDER_LOCK)
    with (
        pytest.raises(RunError, match="is being written by another process"),
        rewriting.lock_run(run, patience=0.0),
    ):
        pass
    locks.release(lock)
    with rewriting.lock_run(run, patience=0.0):
        pass


def test_a_digest_of_scores_that_were_replaced_is_not_shown(run):
    assert run_index.read_digest(run).score is not None
    with rewriting.lock_run(run):
        rewriting.replace(run, {"run.json": [(run / "run.json").read_text("utf-8") + "\n"]})

    assert run_index.read_digest(run).score is None


def test_a_stamp_holds_for_any_spaces_and_not_for_another_order_or_digit():
    data = checksums.add_checksum({"a": {"x": 1, "y": 0.5}, "b": [1, 2]})

    assert checksums.find_own_problem(json.loads(json.dumps(data, indent=3))) == ""
    assert checksums.find_own_problem({"a": 1}) == ""
    what = "is not as it was written: damaged, or changed by hand"
    assert checksums.find_own_problem({**data, "b": [2, 2]}) == what
    assert checksums.find_own_problem({**data, "a": {"y": 0.5, "x": 1}}) == what


def test_a_damaged_run_beside_a_sampled_one_is_named_among_those_left_out(tmp_path):
    one = small.stored(tmp_path, sample=2, chunkers=["markdown"], retrievers=["bm25"]).folder
    two = small.stored(tmp_path, sample=2, chunkers=["markdown"], retrievers=["bm25"]).folder
    changed(one / "run.json", '"size": 2', '"size": 3')

    assert pooling.pool_runs(two).left_out == (f"{one.name}, which is damaged",)


def test_a_kill_in_the_midst_of_replacing_leaves_the_old_run_or_the_new_one(tmp_path):
    assert kill_verb("replace", tmp_path, kills=2, seed=1) == []


def rewritten(folder, text):
    with rewriting.lock_run(folder):
        rewriting.replace(folder, {reader.RUN: [text]})


def test_a_run_that_is_rewritten_while_it_is_read_is_read_again(run, monkeypatch):
    first = (run / reader.RUN).read_text("utf-8")
    second = first.replace('"mean": 1.0', '"mean": 0.0')
    parsed, means = reader._parse_lines, []

    def meanwhile(folder, name, read, model):
        """Rewrite the run, and then bring back what it was, before a file of it is read."""
        if name == reader.QUESTIONS and not means:
            means.append(1)
            rewritten(run, second)
            rewritten(run, first)
            rewritten(run, second)
        return parsed(folder, name, read, model)

    monkeypatch.setattr(reader, "_parse_lines", meanwhile)

    found = reader.load(run)
    assert RUN_FORMAT.text(found.run) == second
    assert found.sums == integrity.compute_sums(run)


def test_what_changed_back_and_forth_is_told_from_what_did_not(run):
    text, before = (run / reader.RUN).read_text("utf-8"), integrity.version(run)

    rewritten(run, f"{text}\n")
    rewritten(run, text)
    assert integrity.version(run) != before
    assert integrity.version(run / "nowhere") is None


def test_a_run_that_never_rests_is_refused_and_what_it_says_is_no_damage(run, monkeypatch):
    text, parsed, at = (run / reader.RUN).read_text("utf-8"), reader._parse_lines, count()

    def meanwhile(folder, name, read, model):
        rewritten(run, text + " " * (next(at) % 2))
        return parsed(folder, name, read, model)

    monkeypatch.setattr(reader, "_parse_lines", meanwhile)

    assert said(run) == [("run.json", "was changed while it was read")]


def test_ratings_of_another_version_than_the_run_are_not_read(run):
    stored = reader.load(run)
    with rewriting.lock_run(run):
        rewriting.replace(run, {ratings.RATINGS: [""]})
    rated = reader.load(run)
    with rewriting.lock_run(run):
        rewriting.replace(run, {ratings.RATINGS: ["\n"]})

    assert ratings.read_all(stored) == ()
    with pytest.raises(DataError, match=r"ratings\.jsonl: was changed while it was read"):
        ratings.read_all(rated)


def test_a_report_of_scores_that_were_replaced_meanwhile_does_not_vouch_for_the_new(run):
    view = View(reader.load(run))
    rewritten(run, (run / reader.RUN).read_text("utf-8") + "\n")
    report.write_reports(view)

    assert (
        run_index.digest(view).data
        == view.stored.sums[reader.RUN]
        != integrity.compute_sums(run)[reader.RUN]
    )
    assert run_index.read_digest(run).score is None


def test_a_staged_file_that_its_writer_moves_first_is_no_damage(run, monkeypatch):
    old = (run / reader.RUN).read_bytes()
    rewritten(run, f"{old.decode()}\n")
    sum_ = integrity.read_sums(run)[reader.RUN]
    os.replace(run / reader.RUN, staged := integrity.staged_path(run, reader.RUN, sum_))
    (run / reader.RUN).write_bytes(old)
    matches = integrity._matches

    def meanwhile(path, sum_):
        if path == staged:
            os.replace(staged, run / reader.RUN)
        return matches(path, sum_)

    monkeypatch.setattr(integrity, "_matches", meanwhile)

    assert integrity.check(run)[reader.RUN] == sum_


def test_what_a_killed_rewriting_was_writing_is_swept_by_the_next(run):
    left = [run / "..records.jsonl-replaced-ab12_xyz", run / ".records.jsonl-replaced"]
    for path in left:
        path.write_text("half")
    rewritten(run, (run / reader.RUN).read_text("utf-8"))

    assert [path for path in run.iterdir() if path.name.startswith(".")] == []


def test_a_stop_as_soon_as_new_files_count_does_not_take_them_away(run, monkeypatch):
    text = (run / reader.RUN).read_text("utf-8") + "\n"

    def stopped(path, text):
        write_atomically(path, text)
        if path.name == integrity.NAME:
            raise KeyboardInterrupt

    monkeypatch.setattr(rewriting, "write_atomically", stopped)
    with pytest.raises(KeyboardInterrupt):
        rewritten(run, text)

    assert integrity.read(run, reader.RUN) == text.encode()


def test_line_ends_that_git_changed_are_said_to_be_that(run):
    for name in integrity.read_sums(run):
        path = run / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    what = "has other line ends than it was written with"
    assert said(run) == [(name, what) for name in integrity.read_sums(run)]
    with pytest.raises(DataError, match=r"the line `\* -text` in \.gitattributes"):
        integrity.read(run, reader.RUN)


def test_deleting_the_checksums_is_advised_only_with_what_that_means(run):
    (run / reader.RECORDS).write_text("")

    with pytest.raises(DataError) as caught:
        reader.load(run)
    assert caught.value.problems[0].hint == (
        "take it from a copy, or run it again; only if you changed it yourself delete sums.json:"
        " nothing tells then whether the files of the run belong together"
    )


def test_a_seed_beyond_what_a_float_holds_is_stored_and_read(run):
    assert reader.load(run).run.provenance.seed == 2**60 + 1
    assert QuestionSample(size=1, of=2, seed=2**60 + 1, day=None).seed == 2**60 + 1
