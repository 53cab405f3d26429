"""Checks before a run, as runs and `validate --deep` show them; and what is odd in data."""

import json

import numpy as np
import pytest
import yaml

from harness import api
from harness.config.run_config import load
from harness.corpus import Documents
from harness.runs import runner
from harness.store import reader
from tests.collections_made import langchain_like
from tests.cross_encoders import tiny
from tests.looking import looked, prepared
from tests.small import DOCUMENTS, project

WARNED = "4 questions of 5 that passage_recall@2 judges are few"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Return the notes of a run with a repeated question, and what was stored."""
    folder = tmp_path_factory.mktemp("ran")
    made, notes = prepared(folder), []
    return reader.load(api.run(made, lambda *_: None, note=notes.append).folder), notes


def test_a_run_stores_and_tells_its_warnings_before_it_begins_and_no_notes(ran):
    stored, notes = ran

    tiny, gold, few = stored.run.warnings
    assert tiny.startswith("3 of 6 chunks (50.0 %) of fixed(size=60): fewer than 20 visible")
    assert gold.startswith("1 of 4 groups of passages (25.0 %), of 1 question, is whole in no")
    assert few.startswith(WARNED)
    short, remedy = few.split("; ")
    assert remedy.endswith("proposes more")
    assert notes[2] == f"warning: {short}"  # what to do about it stands at the end
    assert all(
        each.startswith(note.removeprefix("warning: "))
        for each, note in zip((tiny, gold), notes[:2], strict=True)
    )
    assert all(
        len(note) < len(f"warning: {each}")
        for each, note in zip((tiny, gold, few), notes, strict=False)
    )


def test_what_was_found_once_is_read_from_the_cache(tmp_path, monkeypatch):
    made = prepared(tmp_path, {"copy.md": DOCUMENTS["fares.md"]})
    first, read, reading = looked(made), [], Documents.__getitem__

    def noted(self, id_):
        read.append(id_)
        return reading(self, id_)

    monkeypatch.setattr(Documents, "__getitem__", noted)

    assert looked(made) == first
    assert read == []
    assert looked(made, "duplicates") == first[:1]
    assert read != []


def test_validate_deep_prints_each_with_figure_place_and_remedy(project, cli):
    project.document("copy.md", (project.folder / "corpus" / "moon.md").read_bytes())

    said = cli("validate", "config.yaml", "--deep")

    lines = said.out.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("checks: "))
    assert said.status == 0
    assert lines[start + 2].split() == ["check", "warnings"]
    assert lines[start + 3].startswith("duplicates  2 of 3 documents (66.7 %) are the same,")
    assert "            in: moon.md, copy.md" in lines
    assert "            → take the copies out of the corpus, or label them too" in lines
    assert all(len(line) <= 100 for line in lines[start:])


def test_validate_prints_findings_as_json(project, cli):
    said = cli("validate", "config.yaml", "--deep", "--json")

    found, _ = json.loads(said.out)
    assert (found["check"], found["level"], found["examples"]) == ("size", "warning", [])


def test_a_plain_validate_looks_at_nothing_and_writes_nothing(project, cli):
    said = cli("validate", "config.yaml")

    assert said.status == 0
    assert "checks" not in said.out
    assert project.written() == []


class TestCollections:
    def collected(self, folder, vectors, **about):
        records = [(text, {"source": name}) for name, text in DOCUMENTS.items()]
        langchain_like(folder / "db", "kept", records, vectors=vectors, **about)
        existing = {"collection": "kept", "path": str(folder / "db")}
        changes = {"index": {"existing": existing}, "retrievers": ["dense"]}
        config = project(folder, embedders=[{"hashing": {"dimensions": 64}}], **changes)
        settings = yaml.safe_load(config.read_text())
        del settings["chunkers"]
        config.write_text(yaml.safe_dump(settings))
        return runner.prepare(load(config, [], {}))

    def test_lengths_that_matter_by_inner_product_are_told(self, tmp_path):
        vectors = np.eye(3, 64) * [[1.0], [2.0], [4.0]]
        made = self.collected(tmp_path, vectors, configuration={"hnsw": {"space": "ip"}})

        found = [each for each in api.check(made, lambda *_: None) if "inner" in each.text]

        assert found[0].text.startswith(
            "collection 'kept' compares by inner product, and its vectors are 1.000 to 4.000 long "
            "(3 looked at)"
        )

    def test_vectors_of_nothing_refuse_the_run_before_anything_is_stored(self, tmp_path):
        made = self.collected(tmp_path, np.zeros((3, 64)), configuration={"hnsw": {"space": "l2"}})

        with pytest.raises(Exception, match="3 of 3 vectors looked at are 0") as refused:
            api.run(made, lambda *_: None)

        assert refused.value.status == 2
        assert not (tmp_path / "reports").exists()


@pytest.mark.slow
def test_chunks_that_a_cross_encoder_cannot_read_whole_are_counted(tmp_path):
    model = tiny(tmp_path / "model")
    made = prepared(
        tmp_path,
        {"long.md": "word " * 120},
        chunkers=["whole"],
        retrievers=["bm25"],
        rerankers=[{"cross_encoder": {"model": model}}],
    )

    (found,) = looked(made, "pairs")

    assert found.text.startswith("1 of 4 chunks (25.0 %) of whole is longer than cross_encoder")
    assert found.text.endswith("it reads 128 tokens of both")
    assert found.examples == ("long.md",)


def test_odd_documents_stop_no_check(tmp_path):
    odd = {
        "nul.md": "a\x00b\x00 c " * 9,
        "line.md": "x" * 300_000,
        "signs.md": "—…!? " * 50,
        "spaces.md": " \n\t ",
        "blank.md": "",
    }
    made = prepared(tmp_path, odd, chunkers=["whole", {"fixed": {"size": 60}}])

    assert {each.check for each in looked(made)} >= {"size"}


def test_of_systems_only_data_is_looked_at(tmp_path):
    (tmp_path / "my.run").write_text("day Q0 fares.md 1 9 x\n")
    config = project(tmp_path, metrics=["hit_rate@2"], system={"trec_run": "my.run"})
    settings = yaml.safe_load(config.read_text())
    for key in ("chunkers", "embedders", "retrievers", "generators", "retrieve", "context"):
        del settings[key]
    config.write_text(yaml.safe_dump(settings))
    (tmp_path / "corpus" / "copy.md").write_text(DOCUMENTS["fares.md"])
    made = runner.prepare(load(config, [], {}))

    assert [each.check for each in looked(made)] == ["duplicates", "size", "size"]
