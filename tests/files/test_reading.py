"""Text made to break what reads it: deep, endless, huge, or written for a terminal to obey."""

import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness import evaluate_answers, registry
from harness.corpus import Corpus, load, readers
from harness.errors import (
    ConfigError,
    DataError,
    HarnessError,
    InputError,
    Problem,
    SpecError,
    StageError,
)
from harness.files import reading, trec, yaml_lines
from harness.files.json_lines import read as read_lines
from harness.systems.json_paths import Paths
from harness.systems.json_paths import read as read_reply
from harness.testset import load as load_testset
from harness.testset import readers as testsets
from tests.conftest import QUESTIONS

SOUND = "corpus: corpus\ntestset: testset.jsonl\n"
GIB = 1 << 30


def sparse(path, size=GIB):
    """Write a file of NULs that takes no room."""
    with path.open("wb") as file:
        file.truncate(size)
    return path


def said(call):
    """Return the message that `call` is refused with."""
    with pytest.raises(HarnessError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("deep", ["[" * 100_000, "{a: " * 20_000, "\n " + "- " * 20_000 + "x"])
def test_a_hundred_thousand_brackets_are_refused_with_their_place(project, refused, deep):
    project.config(f"{SOUND}metrics: {deep}")

    _, problem, hint = refused()

    assert problem.startswith("  line ")
    assert problem.endswith(": is nested too deeply")
    assert hint == "    write out less, in fewer levels"


def test_an_alias_of_what_holds_it_is_refused(project, refused):
    project.config(f"{SOUND}metrics: &m [*m]\n")

    assert refused()[1].startswith("  line 3, column 10: is not YAML: found unconstructable recurs")


@pytest.mark.parametrize(
    "number", ["9" * 100_000, "0x" + "f" * 100_000, "1" + ":59" * 100_000, "1." + "0" * 100_000]
)
def test_a_number_of_a_hundred_thousand_digits_is_refused(project, refused, number):
    project.config(f"{SOUND}seed: {number}\n")

    assert refused()[1].startswith(f"  line 3, column 7: is not YAML: '{number[:40]}' is no ")


def test_a_character_that_yaml_has_no_place_for_is_named_by_its_number(project, refused):
    project.config("corpus: \0\n")

    assert refused()[1].startswith("  character 9: is not YAML: unacceptable character #x0000")


def test_lists_that_combine_to_millions_are_refused_before_they_are_combined(project, refused):
    axis = list(range(1_000))
    project.config(chunkers=[{"fixed": {"size": axis, "overlap": axis}}])

    assert refused()[1:] == [
        "  line 4, chunkers[0]: chunker 'fixed': its lists combine to 1,000,000 components",
        "    name fewer: 1,000 at most",
    ]


def test_a_grid_of_more_cells_than_anybody_runs_is_refused(project, refused):
    project.config(
        chunkers=[{"fixed": {"size": list(range(50, 200))}}],
        retrievers=["dense", "bm25"],
        generators=[{"extractive": {"sentences": list(range(1, 41))}}],
    )

    assert refused()[1:] == [
        "  the file: the grid has 12,000 cells",
        "    name fewer: 10,000 at most",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "recall" + " " * 100_000 + "!",
        "recall(" + '"' * 60_000,
        "recall" + "(" * 15_000,
        "a@" + "9" * 5_000,
    ],
)
def test_a_spec_made_to_be_read_for_ever_is_refused_at_once(text):
    assert len(said(lambda: registry.parse(text))) <= 2_000


@pytest.mark.parametrize("name", ["config.yaml", "testset.jsonl"])
def test_a_pipe_that_nobody_writes_to_is_refused(project, refused, name):
    (project.folder / name).unlink()
    os.mkfifo(project.folder / name)

    lines = refused() if name == "config.yaml" else refused("--set", f"testset={{jsonl: {name}}}")

    assert lines[1].endswith("it is no file, but a pipe, a device or a socket")


def test_a_device_and_a_socket_are_refused_by_every_reader(tmp_path):
    why = "it is no file, but a pipe, a device or a socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        (tmp_path / "zero").symlink_to("/dev/zero")
        for name in ("socket", "zero"):
            path = tmp_path / name
            assert why in said(lambda path=path: yaml_lines.read(path, "config.yaml"))
            assert why in said(lambda path=path: read_lines(path))
            assert why in said(lambda path=path: trec.read_qrels(path))
            assert why in said(lambda path=path: trec.read_run(path))
            assert why in said(lambda path=path: evaluate_answers(path))


def test_a_line_of_a_gigabyte_is_refused_with_its_number_and_read_no_further(tmp_path):
    long = sparse(tmp_path / "long")

    assert "line 1 has more than 33,554,432 bytes" in said(lambda: read_lines(long))
    assert "line 1 has more than 1,048,576 bytes" in said(lambda: trec.read_run(long))
    assert "line 1 has more than 1,048,576 bytes" in said(lambda: trec.read_qrels(long))


def test_a_ranking_that_is_none_is_read_for_a_thousand_lines(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("no ranking\n" * 100_000, "utf-8")

    with pytest.raises(DataError) as caught:
        trec.read_run(path)

    assert caught.value.problems[19].where == "line 20"
    assert caught.value.problems[20:] == (Problem("and more", "problems of such kinds"),)


@pytest.mark.parametrize("name", ["corpus", "testset"])
def test_lines_that_are_none_are_read_for_a_thousand(tmp_path, name):
    path = tmp_path / "lines.jsonl"
    path.write_text("x\n" * 1_000, "utf-8")
    with path.open("ab") as file:
        file.truncate(GIB)  # a line of this length would be refused otherwise
    corpus = readers.build({"jsonl": {"path": str(path)}})
    testset = testsets.build({"jsonl": {"path": str(path)}})

    with pytest.raises(DataError) as caught:
        load(corpus) if name == "corpus" else load_testset(testset, Corpus({}, ""))

    assert [each.where for each in caught.value.problems] == [
        *(f"line {at}" for at in range(1, 101)), "and more",
    ]  # fmt: skip


def test_what_a_shell_hands_over_as_a_pipe_is_read(project):
    project.config(SOUND)
    harness = f"{shlex.quote(sys.executable)} -m harness validate"

    for command in (f"{harness} <(cat config.yaml)", f"cat config.yaml | {harness} /dev/stdin"):
        done = subprocess.run(
            ["bash", "-c", command], cwd=project.folder, capture_output=True, text=True, timeout=60,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), command


def test_no_more_of_a_pipe_is_read_than_of_a_file():
    for size, most in ((5, 5), (6, 5)):
        read, write = os.pipe()
        os.write(write, b"x" * size)
        os.close(write)
        try:
            if size <= most:
                assert reading.read_whole(Path(f"/dev/fd/{read}"), most) == b"xxxxx"
            else:
                with pytest.raises(OSError, match="it has more than 5 bytes"):
                    reading.read_whole(Path(f"/dev/fd/{read}"), most)
        finally:
            os.close(read)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"question": ' + "[" * 200_000, "maximum recursion depth exceeded"),
        ('{"question": ' + "9" * 1_000_000 + "}", "Exceeds the limit (4300 digits)"),
        ('{"question": 1e999999}', "1e999999 is out of range"),
        ('{"question": -1e400}', "-1e400 is out of range"),
    ],
    ids=["deep", "digits", "exponent", "negative"],
)
def test_json_that_no_value_is_made_of_is_refused_by_line(project, refused, line, why):
    project.testset(QUESTIONS[0], line)

    assert refused()[1].startswith(f"  line 2: is not usable JSON: {why}")


@pytest.mark.parametrize("body", ['"4}{:"', '"[1"', '"{}"', '"17"', "[" * 200_000, "17", "null"])
def test_a_reply_that_is_no_object_fails_its_question_and_no_more(body):
    paths = Paths(answer="$.answer", contexts="$.contexts[*].text")

    with pytest.raises(StageError):
        read_reply(body, paths)


def test_a_name_written_for_a_terminal_is_shown_and_not_obeyed(project, cli):
    project.document("red\n\x1b[2J\u202e.md", b"\xff")
    project.document("moon.\x1b[31mfoo", b"\0")
    project.config(corpus={"path": "corpus", "on_error": "skip"})

    done = cli("validate", "config.yaml")
    project.config(corpus="corpus")
    refused = cli("validate", "config.yaml")

    assert (done.status, refused.status) == (0, 2)
    for text in (done.out + done.err, refused.out + refused.err):
        assert all(line.isprintable() for line in text.split("\n")), ascii(text)
    assert "  red\\n\\x1b[2J\\u202e.md: is not UTF-8" in refused.err.splitlines()[1]


def test_ids_written_for_a_terminal_are_shown_and_not_obeyed(project, cli):
    (project.folder / "qrels.txt").write_text("q\x1b[31m 0 d1 1\nmissing\u202e 0 d1 1\n", "utf-8")
    (project.folder / "run.txt").write_text("q\x1b[31m d1 1\n", "utf-8")
    answers = {"id": "\x1b[2J", "answer": "a", "references": ["a"], "\x1b[1mkey": 1}
    (project.folder / "answers.jsonl").write_text(json.dumps(answers), "utf-8")

    found = [
        cli("evaluate", "--qrels", "qrels.txt", "--run", "run.txt", "--per-question"),
        cli("evaluate", "--answers", "answers.jsonl", "-m", "token_f1", "--per-question"),
    ]

    assert [each.status for each in found] == [0, 0]
    assert not any("\x1b" in each.out + each.err or "\u202e" in each.out for each in found)


def test_a_message_is_bounded_and_on_as_many_lines_as_it_has_parts():
    error = InputError("a\nb", [Problem("c\nd", "x" * 10_000, "e\x1b[2J")])
    many = InputError("many", [Problem(f"line {at}", "is wrong") for at in range(10_000)])

    lines = str(error).split("\n")
    assert lines[0] == "a\\nb cannot be used:"
    assert (lines[1][:14], len(lines[1])) == ("  c\\nd: xxxxxxx"[:14], 2_000)
    assert lines[2] == "    e\\x1b[2J"
    assert str(many).split("\n")[-1] == "  and 9,701 more lines"
    assert str(SpecError("what", "hint")) == "what\n  hint"


def test_a_configuration_is_read_the_same_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")

    assert yaml_lines.read(path, "config.yaml").data == {"a": 1}
    path.write_bytes(b"a: 1\n---\nb: 2\n")
    with pytest.raises(ConfigError, match="but found another document"):
        yaml_lines.read(path, "config.yaml")
