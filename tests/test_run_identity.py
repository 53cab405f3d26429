"""What a run is called and identified by, and what ends it when its folder is spoilt."""

import pytest

from harness import api
from harness.cache.folders import Cache
from harness.config.run_config import load
from harness.errors import DataError, RunError
from harness.runs import runner
from harness.runs.artefacts import Artefacts
from harness.runs.cell import cell_outcomes
from harness.store import reader
from harness.store.writer import RunWriter
from tests.damage import unsealed
from tests.small import project
from tests.test_run import quiet, run, runs


def test_two_runs_that_start_in_one_second_get_folders_of_their_own(tmp_path):
    config = project(tmp_path, chunkers=["markdown"], retrievers=["bm25"])
    prepared = runner.prepare(load(config, [], {}))
    reports, questions = tmp_path / "reports", prepared.testset.questions
    writers = [RunWriter(reports, "same", what) for what in ("one", "other")]
    first = api.run(prepared, quiet)
    with Cache(tmp_path / "cache") as cache:
        stages = Artefacts(prepared.corpus, cache, prepared.plan, questions)
        (cell,) = prepared.config.cells
        outcome = next(cell_outcomes(cell, questions, stages, prepared.plan))
    for writer in writers:
        with writer:
            writer.append(*outcome)

    assert [writer.id for writer in writers] == ["same", "same-2"]
    assert first.folder.name not in ("same", "same-2")


def test_a_folder_that_vanishes_ends_the_run_with_what_happened(tmp_path):
    config = project(tmp_path, chunkers=["markdown"], retrievers=["bm25"])
    prepared = runner.prepare(load(config, [], {}))

    def spoil(work, done, total):
        if done == 1:
            (folder,) = runs(tmp_path)
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()

    with pytest.raises(RunError, match=r"the run cannot go on: .*No such file") as caught:
        api.run(prepared, spoil)

    assert caught.value.status == 3


def test_a_run_whose_files_disagree_is_refused(tmp_path):
    finished = run(project(tmp_path, chunkers=["markdown"], retrievers=["bm25"]))
    texts = finished.folder / "texts.jsonl"
    texts.write_text("".join(texts.read_text().splitlines(keepends=True)[1:]))
    unsealed(finished.folder)

    with pytest.raises(DataError, match=r"records.jsonl, line 1: texts.jsonl lacks the text of a"):
        reader.load(finished.folder)


def test_a_cells_fingerprint_changes_with_all_that_shapes_its_answers(tmp_path):
    config = project(tmp_path, chunkers=["markdown"], retrievers=["hybrid"])
    changes = [
        {},
        {"retrieve": 4},
        {"context.tokens": 50},
        {"index.ef_search": 50},
        {"generators": "{extractive: {threshold: 0.5}}"},
    ]
    found = [run(config, **change).run.cells[0].fingerprint for change in changes]

    assert len(set(found)) == len(changes)


def test_a_limited_run_is_of_another_test_set(tmp_path):
    loaded = load(project(tmp_path, chunkers=["markdown"], retrievers=["bm25"]), [], {})

    assert runner.prepare(loaded).testset.id != runner.prepare(loaded, limit=2).testset.id


def test_a_baseline_named_as_in_the_grid_is_found_though_it_counts_tokens(tmp_path):
    tokens = {"recursive": {"size": 50, "overlap": 0, "unit": "tokens"}}
    config = project(
        tmp_path,
        chunkers=[tokens],
        embedders=["sentence_transformer"],
        baseline={"chunker": tokens},
    )

    assert load(config, [], {}).baseline is not None


def test_no_credential_in_a_url_and_no_folder_of_a_model_is_shown():
    from harness.chunkers.recursive import Recursive
    from harness.config.grid import Cell
    from harness.files.paths import make_portable
    from harness.generators.chat import Chat
    from harness.rerankers.no_reranker import NoReranker
    from harness.retrievers.bm25 import Bm25

    chunker = Recursive(unit="tokens", tokenizer="/home/me/models/mini")
    cell = Cell(chunker, None, Bm25(), NoReranker(), Chat("openai:x", base_url="http://h:1/v1"))

    assert "recursive(unit=tokens, tokenizer=.../mini)" in cell.name
    assert "base_url=http://h:1/v1" in cell.name
    assert make_portable({"base_url": "http://me:SECRET@host/v1"}) == {"base_url": "http://host/v1"}


def test_what_a_kill_left_half_written_is_gone_from_the_folder_of_the_run_that_continues(tmp_path):
    config = project(tmp_path, chunkers=["markdown"], retrievers=["bm25"])
    prepared = runner.prepare(load(config, [], {}))

    def stop(work, done, total):
        if "bm25" in work:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        api.run(prepared, stop)
    (folder,) = runs(tmp_path)
    atomic = [".report.html-a1b2_c3d", "charts/.curves.svg-zzzzzzzz"]
    for name in (*atomic, ".notes", "my-notes"):
        (folder / name).write_text("half")

    finished = api.run(prepared, quiet)

    assert finished.folder == folder
    assert not any((folder / name).exists() for name in atomic)
    assert {path.name for path in folder.iterdir()} >= {".notes", "my-notes", "report.html"}
