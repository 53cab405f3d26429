"""Text of strangers, fuzzed: whatever is read, it is understood or refused, and nothing else."""

import pytest
from hypothesis import HealthCheck, given, settings

from harness.errors import HarnessError
from tests.fuzzing.promise import broken
from tests.fuzzing.targets import targets

CASES = 12
FEW = settings(
    max_examples=CASES, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
NAMES = (
    "config", "override", "environment", "metric", "jsonl", "yaml", "csv", "beir", "squad", "trec",
    "ragas", "autorag", "qrels and runs", "answers", "prices", "forms", "thumbs",
    "thumbs in a table", "labels", "traffic", "replies", "locate",
)  # fmt: skip


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """Return the targets, with the folder that they read from."""
    return targets(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_read_is_understood_or_refused_in_words(every, name):
    target = every[name]

    @FEW
    @given(case=target.given)
    def holds(case):
        assert broken(lambda: target.read(case)) is None

    holds()


_NO_NUMBERS = [
    *(
        ("qrels and runs", (b"q1 0 d1 1\n", b"q1 d1 %s\n" % each), "line 1: the score")
        for each in (b"inf", b"1e400", b"nan")
    ),
    ("jsonl", b'{"question": "How far?", "answers": ["a"], "x": 1e400}', "1e400 is out of range"),
    ("prices", b'models: {"openai:m": {input: .inf, output: 0.4}}', "line 1"),
]


@pytest.mark.parametrize(("name", "case", "why"), _NO_NUMBERS)
def test_what_is_no_number_is_refused_where_it_stands(every, name, case, why):
    with pytest.raises(HarnessError, match=why):
        every[name].read(case)
