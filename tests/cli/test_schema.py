"""The printed JSON schemas: valid themselves, and true of the files people and runs write."""

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.conftest import QUESTIONS, SETTINGS

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "harness" / "cli" / "project"


@pytest.fixture
def validator(cli):
    """Return a function that gives the validator of one format, from the printed schema."""

    def call(*format_):
        said = cli("schema", *format_)
        assert said.status == 0
        schema = json.loads(said.out)
        Draft202012Validator.check_schema(schema)
        return Draft202012Validator(schema)

    return call


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_the_configuration_is_the_format_when_none_is_named(validator):
    assert validator().schema == validator("config").schema
    assert set(validator().schema["required"]) == {"corpus", "testset"}


@pytest.mark.parametrize("path", [PROJECT / "config.yaml", ROOT / "config.yaml"], ids=str)
def test_config_accepts_the_files_that_are_shipped(validator, path):
    validator("config").validate(yaml.safe_load(path.read_text("utf-8")))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"chunkers": "sentence", "metrics": "recall@2"},
        {"retrievers": {"bm25": {"k1": 1}}},
        {"corpus": {"path": "corpus", "on_error": "skip"}, "labels": None},
        {"baseline": {"retriever": "dense"}, "targets": {"token_f1": 0.5}, "max_failures": 3},
        {"index": {"space": "l2"}, "cost": ["tokens"], "decide_by": "token_f1"},
    ],
)
def test_config_accepts_what_the_command_line_accepts(project, cli, validator, changes):
    path = project.config(**changes)

    assert cli("validate", path).status == 0
    validator("config").validate(yaml.safe_load(path.read_text("utf-8")))


@pytest.mark.parametrize(
    "changes",
    [
        {"retreive": 5},
        {"retrieve": 0},
        {"retrieve": "many"},
        {"context": {"chunk": 2}},
        {"labels": "answers"},
        {"index": {"space": "dot"}},
        {"chunkers": []},
        {"chunkers": 5},
        {"targets": {"token_f1": 1.5}},
    ],
)
def test_config_refuses_what_the_command_line_refuses(project, refused, validator, changes):
    project.config(**changes)

    refused()
    assert not validator("config").is_valid(SETTINGS | changes)


def test_testset_accepts_real_rows(validator):
    rows = [*lines(PROJECT / "testset.jsonl"), *lines(ROOT / "testsets" / "insurellm.jsonl")]
    rows += [*QUESTIONS, {"id": 7, "question": "q", "answer": "a", "documents": {"moon.md": -1}}]

    check = validator("testset")

    assert len(rows) > 8
    assert [error for row in rows for error in check.iter_errors(row)] == []


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"question": ""},
        {"question": "q", "evidense": []},
        {"question": "q", "id": 1.5},
        {"question": "q", "documents": {"moon.md": "high"}},
        {"question": "q", "documents": "moon.md"},
        {"question": "q", "evidence": [{"quote": "no document"}]},
        {"question": "q", "evidence": [{"doc": "moon.md", "quote": "q", "grade": 0}]},
        {"question": "q", "answerable": "maybe"},
    ],
)
def test_testset_refuses_what_the_reader_refuses(project, refused, validator, row):
    project.testset(row)

    refused()
    assert not validator("testset").is_valid(row)


def test_run_and_records_accept_what_a_run_wrote_and_nothing_beside(project, cli, validator):
    # Four cells, some without an embedder, an answer or a score: every null there can be.
    project.config(retrievers=["dense", "bm25"], generators=["none", "extractive"])
    assert cli("run", "config.yaml").status == 0
    (folder,) = project.folder.glob("reports/*/")
    run = json.loads((folder / "run.json").read_text("utf-8"))
    records = lines(folder / "records.jsonl")

    assert len(records) == 12
    assert list(validator("run").iter_errors(run)) == []
    check = validator("records")
    assert [error for record in records for error in check.iter_errors(record)] == []
    assert not validator("run").is_valid(run | {"extra": 1})
    assert not validator("run").is_valid(run | {"schema": 3})
    assert not check.is_valid(records[0] | {"error": "text"})
    assert not check.is_valid({key: records[0][key] for key in records[0] if key != "cell"})


def test_a_format_that_is_not_there_is_refused_with_those_that_are(cli):
    said = cli("schema", "runs")

    assert (said.status, said.out) == (2, "")
    assert said.err == (
        "unknown format 'runs'\n  did you mean 'run'? choose from: config, records, run, testset\n"
    )
