"""`list` names every component with its parameters; `schema` prints what files must look like."""

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.behaviour import stations
from tests.behaviour.golden import check_numbers
from tests.conftest import QUESTIONS, SETTINGS

ROOT = Path(__file__).parent.parent.parent


class TestList:
    @pytest.fixture
    def families(self, cli):
        """Return the names of each family, as `list` has them."""
        data = {}
        for table in cli("list").out.strip().split("\n\n"):
            names = [line.split()[0] for line in table.splitlines() if not line.startswith(" ")]
            data[names[0]] = names[1:]
        return data

    def test_every_component_is_named_in_its_family(self, families):
        check_numbers("components", families)

    def test_every_parameter_has_the_default_it_had(self, families, cli):
        defaults = {}
        for family in families:
            result = cli("list", family)
            assert result.status == 0
            name = ""
            for line in result.out.splitlines():
                if re.match(r"\w", line):
                    name = line
                    listed = False
                elif line.startswith("  parameters:"):
                    listed = True
                elif not line:
                    listed = False
                elif (match := re.match(r" {6}(\w+): (.*)", line)) and listed:
                    defaults.setdefault(f"{family}.{name}", {})[match[1]] = match[2]

        check_numbers("parameters", defaults)

    def test_markdown_is_a_table_with_a_row_a_component(self, families, cli):
        result = cli("list", "--markdown")
        rows = [
            line.split("|")[1:3] for line in result.out.splitlines()[2:] if line.startswith("|")
        ]
        named = [(family.strip(), name.strip(" `")) for family, name in rows]

        assert result.out.startswith("| Family | Name | What it is |\n|---|---|---|\n")
        assert named == [(family, name) for family, names in families.items() for name in names]

    def test_markdown_of_a_family_has_that_family_alone(self, families, cli):
        lines = cli("list", "--markdown").out.splitlines()
        result = cli("list", "chunkers", "--markdown")

        own = [line for line in lines if line.startswith("| chunkers |")]
        assert result.out.splitlines() == [*lines[:2], *own]
        assert len(own) == len(families["chunkers"])

    @pytest.mark.parametrize("options", [(), ("--markdown",)])
    def test_a_family_that_is_not_there_is_refused(self, cli, options):
        result = cli("list", "chunker", *options)

        assert (result.status, result.out) == (2, "")
        assert "did you mean 'chunkers'?" in result.err


@pytest.fixture
def validator(cli):
    def call(*form):
        result = cli("schema", *form)
        assert result.status == 0
        schema = json.loads(result.out)
        Draft202012Validator.check_schema(schema)
        return Draft202012Validator(schema)

    return call


class TestSchema:
    def test_the_configuration_is_what_is_printed_without_a_name(self, validator):
        schema = validator().schema

        assert schema == validator("config").schema
        assert set(schema["required"]) == {"corpus", "testset"}
        check_numbers("config-keys", sorted(schema["properties"]))

    def test_shipped_configurations_are_accepted(self, validator):
        check = validator("config")
        paths = [ROOT / "config.yaml", *sorted((ROOT / "configs").glob("*.yaml"))]
        configs = [path for path in paths if path.name != "prices.yaml"]
        problems = {
            path.name: [error.message for error in
                        check.iter_errors(yaml.safe_load(path.read_text("utf-8")))]
            for path in configs
        }  # fmt: skip

        assert len(configs) > 5
        assert problems == {name: [] for name in problems}

    @pytest.mark.parametrize(
        "change",
        [
            {"retreive": 5},
            {"retrieve": 0},
            {"context": {"chunk": 2}},
            {"labels": "answers"},
            {"index": {"space": "dot"}},
            {"chunkers": []},
            {"targets": {"token_f1": 1.5}},
            {"gate": {"min": {"token_f1": 2}}},
        ],
        ids=str,
    )
    def test_what_the_command_line_refuses_the_schema_refuses_too(
        self, project, cli, validator, change
    ):
        project.config(**change)

        assert cli("validate", "config.yaml").status == 2
        assert not validator("config").is_valid(SETTINGS | change)
        assert validator("config").is_valid(SETTINGS)

    @pytest.mark.parametrize(
        "row",
        [
            {},
            {"question": ""},
            {"question": "q", "evidense": []},
            {"question": "q", "documents": {"moon.md": "high"}},
            {"question": "q", "evidence": [{"quote": "no document"}]},
            {"question": "q", "answerable": "maybe"},
        ],
        ids=str,
    )
    def test_rows_that_no_test_set_may_hold_are_refused(self, project, cli, validator, row):
        project.testset(row)

        assert cli("validate", "config.yaml").status == 2
        assert not validator("testset").is_valid(row)
        assert all(validator("testset").is_valid(question) for question in QUESTIONS)

    def test_what_a_run_wrote_is_accepted_and_nothing_beside(self, project, cli, validator):
        project.config(retrievers=["dense", "bm25"], generators=["none", "extractive"])
        folder = Path(json.loads(cli("run", "config.yaml", "--json").out)["run"])
        run = json.loads((folder / "run.json").read_text("utf-8"))
        records = stations.lines(folder / "records.jsonl")
        check = validator("records")

        assert len(records) == 12
        assert list(validator("run").iter_errors(run)) == []
        assert [error for record in records for error in check.iter_errors(record)] == []
        assert not validator("run").is_valid({**run, "extra": 1})
        assert not check.is_valid({**records[0], "error": "text"})

    def test_a_format_that_is_not_there_is_refused(self, cli):
        result = cli("schema", "runs")

        assert (result.status, result.out) == (2, "")
        assert "choose from: config, records, run, testset" in result.err
