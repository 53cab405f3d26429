"""`init`: a new project that `run` accepts as it is, and whose scores are what they must be."""

import json
import os
from pathlib import Path

import pytest
import yaml

from harness.config.run_config import load
from harness.embedders.sentence_transformer import SentenceTransformer
from harness.models.model_files import DEFAULT_MODEL

FILES = (
    "config.yaml",
    "testset.jsonl",
    "corpus/maintenance.md",
    "corpus/prices.md",
    "corpus/riding.md",
    "corpus/stations.md",
)


@pytest.fixture
def made(tmp_path, monkeypatch, cli):
    """Make a new project in the working directory; returns its folder's name."""
    monkeypatch.chdir(tmp_path)
    assert cli("init", "demo").status == 0
    return Path("demo")


@pytest.fixture
def ran(made, cli):
    """Run the new project as it is; returns the run's file."""
    done = cli("run", made / "config.yaml", "--json")
    assert done.status == 0, done.err
    folder = Path(json.loads(done.out)["run"])
    return json.loads((folder / "run.json").read_text("utf-8"))


def questions(folder):
    return [json.loads(line) for line in (folder / "testset.jsonl").read_text("utf-8").splitlines()]


def test_init_names_the_files_it_writes_and_the_next_command(tmp_path, monkeypatch, cli):
    monkeypatch.chdir(tmp_path)

    said = cli("init", "deep/demo")

    assert said.status == 0
    assert said.out.splitlines() == [
        *(f"deep/demo/{each}" for each in FILES),
        "",
        "Now run: python -m harness run deep/demo/config.yaml",
    ]
    written = [p for p in Path("deep").rglob("*") if p.is_file()]
    assert sorted(str(p) for p in written) == sorted(f"deep/demo/{each}" for each in FILES)


def test_a_folder_that_has_one_of_the_files_is_left_as_it_is(made, cli):
    (made / "testset.jsonl").unlink()
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}

    said = cli("init", made)

    assert (said.status, said.out) == (2, "")
    assert said.err.splitlines() == [
        "'demo/config.yaml' is there already; nothing was written",
        "  name a new folder",
    ]
    assert {path: path.read_bytes() for path in made.rglob("*") if path.is_file()} == before


def test_a_folder_with_other_files_in_it_keeps_them(tmp_path, monkeypatch, cli):
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text("mine", "utf-8")

    assert cli("init", ".").status == 0
    assert Path("README.md").read_text("utf-8") == "mine"
    assert all(Path(each).is_file() for each in FILES)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, monkeypatch, cli):
    monkeypatch.chdir(tmp_path)
    Path("occupied").write_text("a file", "utf-8")

    said = cli("init", "occupied/demo")

    assert (said.status, said.out) == (2, "")
    assert said.err.splitlines() == [
        "'occupied/demo' cannot be written: Not a directory",
        "  name another folder",
    ]
    assert os.listdir() == ["occupied"]


def test_the_new_project_has_the_parts_a_beginner_needs(made):
    rows = questions(made)
    config = load(made / "config.yaml")

    assert len(rows) == 8
    assert sum(row.get("answerable", True) is False for row in rows) == 2
    answerable = [row for row in rows if row.get("answerable", True)]
    assert all(row["answers"] and row["keywords"] and row["evidence"] for row in answerable)
    assert len(config.cells) == 4
    assert {cell.chunker.name for cell in config.cells} == {"recursive", "markdown"}
    assert [cell.retriever.name for cell in config.cells] == ["bm25", "dense"] * 2
    assert not any(each.metric.name.startswith("bertscore") for each in config.metrics)


def test_every_quote_stands_in_its_document_to_the_letter_and_once(made):
    for row in questions(made):
        for evidence in row.get("evidence", []):
            text = (made / "corpus" / evidence["doc"]).read_text("utf-8")
            assert text.count(evidence["quote"]) == 1, evidence


def test_every_line_of_the_new_configuration_has_a_comment(made):
    lines = (made / "config.yaml").read_text("utf-8").splitlines()

    assert [line for line in lines if line.strip() and "#" not in line] == []


def test_the_commented_line_switches_to_a_real_model(made):
    path = made / "config.yaml"
    text = path.read_text("utf-8")
    text = text.replace("  # - sentence_transformer", "  - sentence_transformer")
    path.write_text(text.replace("  - hashing ", "  # - hashing "), "utf-8")

    embedders = {cell.embedder for cell in load(path).cells}

    assert embedders == {None, SentenceTransformer(DEFAULT_MODEL)}
    assert yaml.safe_load(text)["embedders"][1]["sentence_transformer"]["model"] == DEFAULT_MODEL


def test_its_means_are_these(ran):
    run = ran

    def means(metric):
        return [cell["scores"][metric]["mean"] for cell in run["cells"]]

    # Of the six answerable questions, the first chunk holds a passage of 6, 4, 5 and 3.
    assert means("passage_recall@1") == pytest.approx([6 / 6, 4 / 6, 5 / 6, 3 / 6])
    assert means("hit_rate@3") == [1, 1, 1, 1]
    # Eight questions, and one of the two unanswerable ones is answered all the same.
    assert means("abstention") == pytest.approx([7 / 8] * 4)
    for cell in run["cells"]:
        about = cell["scores"]
        assert {name: about[name]["n"] for name in about} == {
            name: 8 if name == "abstention" else 6 for name in about
        }
        assert about["token_f1"]["not_scored"] == 2
