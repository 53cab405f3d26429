"""Judgements and rankings as TREC and BEIR write them: what is read, and every way to be wrong."""

import gzip
import math

import pytest

from harness.errors import DataError
from harness.files.trec import read_qrels, read_run
from harness.metrics.ndcg import dcg


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a file, byte for byte, and gives its path."""

    def write(content):
        path = tmp_path / "file"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def problems(read, path):
    """Return (place, fact) of each thing that is wrong with a file."""
    with pytest.raises(DataError) as caught:
        read(path)
    assert caught.value.path == str(path)
    return [(problem.where, problem.what) for problem in caught.value.problems]


QRELS = {"q1": {"a": 3, "b": 0, "c": -2}, "q2": {"b": 1}}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("q1 0 a 3\nq1 0 b 0\nq1 0 c -2\nq2 0 b 1\n", id="TREC"),
        pytest.param("q1\t0\ta\t3\nq1 Q0  b\t 0 \r\n q1 0 c -2\nq2 0 b +1", id="any white space"),
        pytest.param("# by us\n\nq1 0 a 3\n#q1 0 b 7\nq1 0 b 0\n \nq1 0 c -2\nq2 0 b 1\n", id="#"),
        pytest.param("\ufeffq1 0 a 3\nq1 0 b 0\nq1 0 c -2\nq2 0 b 1\n", id="a byte order mark"),
        pytest.param("q1 a 3\nq1 b 0\nq1 c -2\nq2 b 1\n", id="three columns"),
        pytest.param(
            "query-id\tcorpus-id\tscore\nq1\ta\t3\nq1\tb\t0\nq1\tc\t-2\nq2\tb\t1\n", id="BEIR"
        ),
        pytest.param(
            "query-id corpus-id score\nq1 a 3\nq1\tb 0\nq1 c -2\nq2 b 1\n", id="BEIR, blanks"
        ),
        pytest.param(
            "# by us\nquery-id\tcorpus-id\tscore\r\nq1 a 3\nq1\tb\t0\nq1\tc\t-2\nq2\tb\t1\n",
            id="a header under a comment",
        ),
        pytest.param("q2 0 b 1\nq1 0 c -2\nq1 0 a 3\nq1 0 b 0\n", id="topics in any order"),
    ],
)
def test_judgements_are_read_from_every_form(file, content):
    assert read_qrels(file(content)) == QRELS
    assert read_qrels(file(gzip.compress(content.encode()))) == QRELS


RUN = {"q1": {"a": 0.5, "b": -2.0}, "q2": {"b": 12.0}}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("q1 Q0 a 1 0.5 x\nq1 Q0 b 2 -2 x\nq2 Q0 b 1 1.2e1 x\n", id="TREC"),
        pytest.param("q1\tQ0\ta\t9\t.5\tx\nq2 Q0 b 1 12 x\nq1 Q0 b 0 -2.0 y\n", id="ranks ignored"),
        pytest.param("# by us\nq1 a 0.5\n\nq1\tb\t-2\nq2 b 12\n", id="three columns"),
        pytest.param("query-id\tcorpus-id\tscore\nq1\ta\t0.5\nq1\tb\t-2\nq2\tb\t12\n", id="BEIR"),
    ],
)
def test_rankings_are_read_from_every_form(file, content):
    assert read_run(file(content)) == RUN
    assert read_run(file(gzip.compress(content.encode()))) == RUN


def test_the_highest_grade_is_read_and_has_an_exponential_gain(file):
    grades = read_qrels(file("q a 1000\nq b -1000\n"))["q"]

    assert grades == {"a": 1000, "b": -1000}
    assert math.isfinite(dcg([(rank, grades["a"]) for rank in range(1, 10_001)], "exponential"))


def test_under_a_header_with_tabs_ids_may_hold_spaces(file):
    path = file("query-id\tcorpus-id\tscore\nq 1\tThe Moon\t2\nq 1\tMars\t0\n")

    assert read_qrels(path) == {"q 1": {"The Moon": 2, "Mars": 0}}
    assert read_run(path) == {"q 1": {"The Moon": 2.0, "Mars": 0.0}}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("q 0 a 1.0", "the grade '1.0' is no whole number"),
        ("q 0 a high", "the grade 'high' is no whole number"),
        ("q 0 a -+3", "the grade '-+3' is no whole number"),
        ("q 0 a 1_0", "the grade '1_0' is no whole number"),
        ("q 0 a 1234567890", "the grade '1234567890' is no whole number"),
        ("q 0 a 1001", "the grade '1001' is too large"),
        ("q 0 a -1001", "the grade '-1001' is too large"),
        (f"q 0 a {'9' * 5000}", f"the grade '{'9' * 37}...' is no whole number"),
        ("q 0 a", "the grade 'a' is no whole number"),
        ("q", "has 1 fields"),
        ("q 0 a 1 more", "has 5 fields"),
        ("z 0 a 2", "judges document 'a' for question 'z' a second time"),
        ("z 1 a 1", "judges document 'a' for question 'z' a second time"),
    ],
)
def test_a_malformed_judgement_is_an_error_with_its_line(file, line, what):
    assert problems(read_qrels, file(f"# judged\nz 0 a 1\n{line}\nz 0 b 1\n")) == [("line 3", what)]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("q Q0 a 1 nan x", "the score 'nan' is not a finite number"),
        ("q Q0 a 1 -NaN x", "the score '-NaN' is not a finite number"),
        ("q Q0 a 1 inf x", "the score 'inf' is not a finite number"),
        ("q Q0 a 1 -Infinity x", "the score '-Infinity' is not a finite number"),
        ("q Q0 a 1 1e400 x", "the score '1e400' is not a finite number"),
        ("q Q0 a 1 high x", "the score 'high' is not a finite number"),
        ("q Q0 a 1 1_0 x", "the score '1_0' is not a finite number"),
        ("q Q0 a 1 0,5 x", "the score '0,5' is not a finite number"),
        ("q Q0 a 1", "has 4 fields"),
        ("q Q0 a 1 0.5", "has 5 fields"),
        ("z Q0 a 2 0.4 x", "ranks document 'a' for question 'z' a second time"),
        ("z a 0.4", "ranks document 'a' for question 'z' a second time"),
    ],
)
def test_a_malformed_line_of_a_ranking_is_an_error_with_its_number(file, line, what):
    path = file(f"z Q0 a 1 0.5 x\n\n{line}\nz Q0 b 1 0.25 x\n")

    assert problems(read_run, path) == [("line 3", what)]


def test_all_problems_of_a_file_are_named_at_once_with_what_was_wanted(file):
    path = file(b"q Q0 a 1 nan x\nq Q0 b 2 0.5 x\nq Q0 b 3 0.25 x\nq Q0 \xff 4 0.2 x\nq Q0\n")
    with pytest.raises(DataError) as caught:
        read_run(path)

    assert str(caught.value).splitlines() == [
        f"{path} cannot be read:",
        "  line 1: the score 'nan' is not a finite number",
        "    nothing can be ranked by it",
        "  line 3: ranks document 'b' for question 'q' a second time",
        "    keep one of the two lines",
        "  line 4: is not UTF-8 at byte 5",
        "  line 5: has 2 fields",
        "    6: question Q0 document rank score name",
    ]


NO_TEXT = gzip.compress(b"", mtime=0)


@pytest.mark.parametrize("read", [read_qrels, read_run])
@pytest.mark.parametrize(
    "content", [b"", b"\n \n", b"# nothing\n", b"query-id\tcorpus-id\tscore\n", NO_TEXT]
)
def test_a_file_with_nothing_in_it_is_an_error(file, read, content):
    assert problems(read, file(content)) == [("the file", "is empty")]


WHOLE = gzip.compress(b"q 0 a 1\n" * 100)


@pytest.mark.parametrize("read", [read_qrels, read_run])
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(WHOLE[:-12], id="cut off"),
        pytest.param(WHOLE[:10] + b"\xff" * 20, id="damaged"),
        pytest.param(WHOLE[:-8] + b"\0" * 8, id="a wrong checksum"),
    ],
)
def test_a_damaged_archive_is_an_error(file, read, content):
    ((where, what),) = problems(read, file(content))

    assert where == "the file"
    assert what.startswith("cannot be read: ")
