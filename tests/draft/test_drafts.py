"""Drafts on the command line, in runs, and how a person accepts them."""

import json
import os
import signal
import sys

import pytest

from harness import draft
from harness.cli import main
from harness.config.run_config import load
from harness.draft.acceptance import accept
from harness.errors import DataError, HarnessError
from harness.runs import runner
from tests.cli.test_exit_status import ended, start
from tests.support.draft_server import Script
from tests.support.draft_server import drafting as served
from tests.support.small import QUESTIONS, project

NAMES = [f"d{at}" for at in range(20)]


def harness(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["harness", *map(str, arguments)])
    main()


def write(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def rows_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_what_is_left_out_of_the_corpus_is_said_before_drafting(tmp_path):
    with served(tmp_path, NAMES) as (config, _):
        (tmp_path / "corpus" / "x.png").write_bytes(b"x")

        notes = draft.prepare(config).notes

    assert len(notes) == 2
    assert notes[1] == "files of the corpus that nothing reads were left out: 1 .png"


def test_a_run_counts_the_drafts_among_the_questions_that_it_asks(tmp_path):
    marked = [{**each, "draft": at in (0, 4)} for at, each in enumerate(QUESTIONS)]
    config = load(project(tmp_path, marked))

    assert runner.prepare(config).testset.unaccepted == 2
    assert runner.prepare(config, limit=3).testset.unaccepted == 1


def test_the_mark_is_no_part_of_what_a_test_set_is(tmp_path):
    plain = runner.prepare(load(project(tmp_path))).testset
    marked = runner.prepare(load(project(tmp_path, [{**QUESTIONS[0], "draft": True}])))

    assert plain.unaccepted == 0
    accept(tmp_path / "testset.jsonl", None)
    again = runner.prepare(load(tmp_path / "config.yaml")).testset
    assert marked.testset.unaccepted == 1
    assert again.unaccepted == 0
    assert again.id == marked.testset.id


def test_an_interrupt_keeps_what_there_is_and_the_same_command_goes_on(tmp_path):
    class Sleepy(Script):
        def draft(self, passages):
            if self.drafts == 13:
                os.kill(process.pid, signal.SIGINT)
            return super().draft(passages)

    out = tmp_path / "drafts.jsonl"
    with served(tmp_path, NAMES, says=Sleepy()) as (config, bench):
        arguments = (
            "draft",
            str(config),
            "--n",
            "16",
            "-o",
            str(out),
            "--set",
            "chat.concurrent=1",
        )
        process = start(*arguments)
        status, _, err = ended(process)
        assert status == 130, err
        part = tmp_path / "drafts.part.jsonl"
        assert f"interrupted; the drafts made are in {part}" in err
        first, asked = rows_of(part), len(bench.asked)
        assert len(first) == 8  # those of the first eight that were asked for together
        process = start(*arguments)
        assert ended(process)[0] == 0
        assert rows_of(out)[: len(first)] == first
        assert not part.exists()
        drafted = [each for each in bench.asked[asked:] if "<passage" in each]
        assert len(drafted) <= 16 - 12


def test_accepting_takes_the_mark_off_and_leaves_every_other_line_as_it_is(tmp_path, capsys):
    path = tmp_path / "t.jsonl"
    odd = '{"id":"mine",   "question":"Caf\\u00e9?"}\n\n'
    drafts = [{"id": "a", "question": "A?", "draft": True}, {"question": "B?", "draft": True}]
    path.write_text(odd + "".join(f"{json.dumps(row)}\n" for row in drafts), encoding="utf-8")

    assert accept(path, ["line-4"]) == (1, 1)
    lines = path.read_text("utf-8").split("\n")
    assert lines[0] == odd.strip()
    assert lines[2:] == [json.dumps(drafts[0]), '{"question": "B?"}', ""]


def test_accept_says_how_many_are_left(tmp_path, monkeypatch, capsys):
    path = tmp_path / "t.jsonl"
    write(path, [{"id": id_, "question": f"{id_}?", "draft": True} for id_ in "abc"])

    with pytest.raises(SystemExit):
        harness(monkeypatch, "draft", "accept", path, "--id", "a", "--id", "c")
    assert capsys.readouterr().out == f"2 accepted, 1 still drafts: {path}\n"
    with pytest.raises(SystemExit):
        harness(monkeypatch, "draft", "accept", path, "--all")
    assert capsys.readouterr().out == f"1 accepted, 0 still drafts: {path}\n"
    assert rows_of(path) == [{"id": id_, "question": f"{id_}?"} for id_ in "abc"]


def test_accept_names_what_is_wrong_and_changes_nothing(tmp_path, monkeypatch, capsys):
    path = tmp_path / "t.jsonl"
    write(path, [{"id": "a", "question": "A?", "draft": True}, {"id": "b", "question": "B?"}])
    before = path.read_bytes()

    with pytest.raises(HarnessError, match="no draft with the id 'b'\n  it has 1, 'a' for one"):
        accept(path, ["a", "b"])
    with pytest.raises(SystemExit) as error:
        harness(monkeypatch, "draft", "accept", path)
    assert error.value.code == 2
    assert "nothing says what to accept" in capsys.readouterr().err
    assert path.read_bytes() == before
    path.write_bytes(b"\xff\xfe{\n")
    with pytest.raises(DataError, match="line 1: is not UTF-8"):
        accept(path, None)
    with pytest.raises(DataError, match="cannot be read"):
        accept(tmp_path / "none.jsonl", None)
