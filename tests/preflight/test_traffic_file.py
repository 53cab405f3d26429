"""Files of questions that people ask: read in each form, refused with their lines."""

import numpy as np
import pytest
from scipy import stats

from harness.errors import DataError
from harness.preflight.traffic_file import TrafficQuestion, read


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("asked.txt", "\ufeffHow far?\n\n  Which moons? \r\n"),
        ("asked", '{"question": "How far?"}\n\n{"query": " Which moons?", "text": null}\n'),
        ("asked.jsonl", '{"text": "How far?"}\n{"question": " "}\n{"text": "Which moons?"}'),
        ("asked.csv", "when,Query\n2026-01-01,How far?\n,\n2026-01-02,Which moons?\n"),
        ("asked.tsv", "query\tuser\nHow far?\ta\n\tb\nWhich moons?\tc\n"),
    ],
)
def test_each_form_of_file_gives_its_questions_with_their_lines(tmp_path, name, content):
    found = read(written(tmp_path, name, content))

    lines = {"asked.csv": (2, 4), "asked.tsv": (2, 4)}.get(name, (1, 3))
    assert found.questions == (
        TrafficQuestion(lines[0], "How far?"),
        TrafficQuestion(lines[1], "Which moons?"),
    )
    assert found.of == 2


def test_everything_wrong_is_said_at_once_by_line(tmp_path):
    lines = [
        b'{"question": "Fine?"}',
        b'{"title": "no question"}',
        b'{"question": 7}',
        b'{"text": "a\\u0000b"}',
        b'{"text": "' + b"x" * 10_001 + b'"}',
        b'{"text": "\\ud800"}',
        b"\xff",
        b"[" * 100_000,
    ]

    with pytest.raises(DataError) as refused:
        read(written(tmp_path, "a.jsonl", b"\n".join(lines)))

    said = {each.where: each.what for each in refused.value.problems}
    assert list(said) == [f"line {number}" for number in range(2, 9)]
    assert said["line 2"] == "has no 'question', 'text' or 'query', but 'title'"
    assert said["line 3"] == "question: is int, not a text"
    assert said["line 5"] == "has 10,001 characters, which is no question"
    assert all(each.hint for each in refused.value.problems)


def test_no_more_than_twenty_lines_are_listed_and_the_rest_is_counted(tmp_path):
    with pytest.raises(DataError) as refused:
        read(written(tmp_path, "a.txt", b"\xff\n" * 1_000))

    assert len(refused.value.problems) == 21
    assert refused.value.problems[-1].where == "and 980 more"


def test_what_is_no_file_of_questions_is_refused(tmp_path):
    large, table = tmp_path / "large.txt", tmp_path / "large.csv"
    for path, size in ((large, 1 << 27), (table, 1 << 25)):
        with path.open("wb") as file:
            file.truncate(size + 1)
    files = [
        tmp_path,
        tmp_path / "nowhere.txt",
        large,
        table,
        written(tmp_path, "empty.csv", "a,b\n1,2"),
    ]

    for path in [*files, written(tmp_path, "zip", b"PK\x03\x04\x00\x00\xff"), tmp_path / "a\0b"]:
        with pytest.raises(DataError):
            read(path)


def test_of_a_large_file_every_question_has_the_same_chance_and_the_same_ones_are_taken(tmp_path):
    file = written(tmp_path, "a.txt", "".join(f"question {n}?\n" for n in range(5_000)))

    found = read(file, most=500)

    lines = [each.line for each in found.questions]
    assert (found.of, len(lines), lines) == (5_000, 500, sorted(set(lines)))
    assert read(file, most=500) == found
    # Kolmogorov and Smirnov's distance from the uniform distribution, at the 1 % level.
    assert stats.kstest(np.array(lines) / 5_000, "uniform").statistic < 1.63 / 500**0.5
