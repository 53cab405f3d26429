"""Stored runs that somebody wrote to do harm: each verb reads them, or refuses them in words."""

import json
from dataclasses import replace

import pytest
from pydantic import ValidationError

from harness.errors import DataError
from harness.records import Usage
from harness.report.sections.provenance_section import _duration
from harness.runs.oracle import oracle_scores
from harness.store.record_format import RecordFormat
from harness.store.run_file import RUN_FORMAT
from tests.fuzzing.runs import ESCAPE, MARKUP, Hostile, _harmful
from tests.support import runs_made

CASES = 3
RUN = runs_made.stored({"a": {"token_f1": [1.0]}}).run


def test_whatever_a_stored_run_says_verbs_read_it_or_refuse_it_in_words(tmp_path):
    hostile = Hostile.small_project(tmp_path / "a" / "b" / "c")

    assert hostile.fuzzed(CASES, seed=1) == []


def test_markup_of_a_run_that_reaches_a_page_is_seen_unless_it_stands_in_a_fence():
    assert "holds markup" in _harmful("report.html", f"<p>{MARKUP}".encode())
    assert "holds markup" in _harmful("report.md", f"```\n```\n{MARKUP}".encode())
    assert _harmful("report.md", f"```text\n{MARKUP}\n```\n".encode()) == ""
    assert ESCAPE.startswith("\x1b")


@pytest.mark.parametrize("number", [10**30, -(10**30)])
def test_a_number_that_no_float_holds_is_refused(number):
    with pytest.raises(ValidationError):
        RecordFormat(Usage).parse(json.dumps({"tokens_in": number, "tokens_out": 1}))


@pytest.mark.parametrize(
    "resolved",
    [1, [], {"margin": "x"}, {"context": []}, {"cost": {}}, {"relevance_level": "a"}, {"index": 1}],
)
def test_a_configuration_that_readers_of_runs_cannot_use_is_refused(resolved):
    with pytest.raises(ValidationError, match="config"):
        RUN_FORMAT.parse(json.dumps({**RUN_FORMAT.data(RUN), "config": {"resolved": resolved}}))


@pytest.mark.parametrize("given", [{"metric": -1}, {"metric": "recall@5"}, {"min": {}}])
def test_an_answer_test_that_is_none_is_refused_with_its_place(given):
    run = replace(RUN, config={"resolved": {"answer_test": given}})
    with pytest.raises(DataError, match=r"config\.resolved\.answer_test"):
        oracle_scores.read_answer_test(run)


@pytest.mark.parametrize("ended", ["", "2026-99-99", "2026-01-01T00:00:00+00:00", "9" * 5000])
def test_times_that_are_none_are_no_failure_of_the_report(ended):
    run = replace(RUN, started="2026-01-01T00:00:00", ended=ended)

    assert _duration(run) == "how long is not known"
