"""Provenance in the report: all that it takes to run the same again, and nothing of the machine."""

from dataclasses import replace

import pytest

import harness
from harness import api
from harness.config.run_config import load
from harness.files import yaml_lines
from harness.report.document import Fold, TwoColumns
from harness.report.run_view import View
from harness.report.sections import provenance_section
from harness.runs import runner
from harness.store import reader
from tests.support.small import project

METRICS = ["recall@2", "mrr(labels=documents)", "bleu(smoothing=2)"]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    config = project(tmp_path_factory.mktemp("provenance"), metrics=METRICS, decide_by=METRICS[1])
    return reader.load(api.run(runner.prepare(load(config, [], {})), lambda *_: None).folder)


def told(stored):
    """Return the rows of the table, the configuration as given, and the folds by their titles."""
    columns, *folds = provenance_section.blocks(View(stored))
    assert isinstance(columns, TwoColumns)
    assert all(isinstance(fold, Fold) for fold in folds)
    (table,), (given,) = columns.first, columns.second
    return dict(table.rows), given, {fold.title: fold.blocks[0] for fold in folds}


def with_provenance(stored, **about):
    provenance = replace(stored.run.provenance, **about)
    return replace(stored, run=replace(stored.run, provenance=provenance))


def test_the_table_names_what_the_numbers_were_made_with(stored):
    rows, _, _ = told(stored)
    run, about = stored.run, stored.run.provenance

    assert rows["Run"].startswith(f"{run.id}, finished, ")
    assert rows["Started, ended"] == f"{run.started}, {run.ended}"
    assert rows["Harness"].startswith(f"{harness.__version__}, ")
    assert rows["Python"] == f"{about.python}, {about.platform}"
    assert f"numpy {about.packages['numpy']}" in rows["Packages"]
    assert rows["Corpus"].startswith(".../corpus (folder); 3 documents; ")
    assert (
        f"{about.corpus['characters']:,} characters; hash {about.corpus['hash']}" in rows["Corpus"]
    )
    assert rows["Test set"] == (
        f".../testset.jsonl (jsonl); 5 questions; 1 unanswerable; hash {about.testset['hash']}; "
        "drafts 0"
    )
    assert rows["Labels"] == (
        "evidence; relevant from 0.5 of the shorter of chunk and passage on (min_overlap); "
        "relevant from grade 1 on"
    )
    assert rows["Model of hashing"].startswith("version ")
    assert rows["Index"].startswith("space cosine; max_neighbors 16; ")
    assert rows["Statistics"] == ("seed 7; 10,000 sign-flip draws; max-T within each table")
    made = run.cache["rankings"]
    assert f"rankings: made {made['made']}, reused {made['reused']}" in rows["Cache"]
    assert "Collection" not in rows


def test_the_configuration_reads_back_as_what_was_given_and_what_it_came_to(stored):
    _, given, folds = told(stored)

    assert yaml_lines.parse_value(given.text) == stored.run.config["given"]
    resolved = folds["Configuration with every default"].text
    assert yaml_lines.parse_value(resolved) == stored.run.config["resolved"]


def test_no_path_of_the_machine_shows(stored):
    config = {"given": {"corpus": "/home/someone/corpus", "cache": "/var/cache/x"}, "resolved": {}}
    models = [{"used_by": "chat", "model": "gguf:/home/someone/tiny.gguf"}]
    corpus = {**stored.run.provenance.corpus, "path": "/home/someone/corpus"}
    hostile = with_provenance(stored, models=models, corpus=corpus)
    hostile = replace(hostile, run=replace(hostile.run, config=config))
    rows, given, _ = told(hostile)

    assert rows["Model of chat"] == "model gguf:.../tiny.gguf"
    assert rows["Corpus"].startswith(".../corpus (folder)")
    assert yaml_lines.parse_value(given.text) == {"corpus": ".../corpus", "cache": ".../x"}
    for each in (stored, hostile):
        said = repr(provenance_section.blocks(View(each)))
        assert "/home/" not in said
        assert str(stored.folder.parent.parent) not in said
