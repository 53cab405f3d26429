"""A run in process: what is stored, what a failure or Ctrl-C leaves, and what spoils its folder."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from harness import api
from harness.cache.folders import Cache
from harness.config.run_config import load
from harness.errors import DataError, RunError, StageError
from harness.records import Answer
from harness.retrievers import Retriever
from harness.runs import runner
from harness.runs.artefacts import Artefacts
from harness.runs.cell import cell_outcomes
from harness.store import reader
from harness.store.writer import RunWriter
from tests.support.damage import unsealed
from tests.support.small import project


def quiet(work, done, total):
    """Progress nobody looks at."""


def run(config, **overrides):
    prepared = runner.prepare(load(config, [f"{k}={v}" for k, v in overrides.items()], {}))
    return api.run(prepared, quiet)


@dataclass(frozen=True)
class Faulty:
    """A generator that gives up on, or is interrupted at, questions with a certain word."""

    fails_on: str = "nothing"
    interrupted_at: str = "nothing"

    name = "faulty"
    version = 1
    answers = True
    copies = False
    at_once = 1
    repeat = 1

    def check(self):
        pass

    def answer(self, question, context, sample=0):
        if self.interrupted_at in question:
            raise KeyboardInterrupt
        if self.fails_on in question:
            raise StageError("429 Too Many Requests")
        return Answer("A day pass costs 6 dollars.")


def with_generator(config, generator):
    """Prepare a run whose cells all use `generator`, as one more component would be."""
    loaded = load(config, [], {})
    cells = tuple(replace(cell, generator=generator) for cell in loaded.cells)
    return runner.prepare(replace(loaded, cells=cells))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    finished = run(project(tmp_path_factory.mktemp("project")))
    return reader.load(finished.folder)


class TestAFinishedRun:
    def test_has_a_record_for_each_cell_and_question_in_their_order(self, stored):
        cells = [cell.name for cell in stored.run.cells]
        asked = [(record.cell, record.question) for record in stored.records]

        assert cells == [
            "fixed(size=60) × hashing × dense × extractive",
            "fixed(size=60) × bm25 × extractive",
            "markdown × hashing × dense × extractive",
            "markdown × bm25 × extractive",
        ]
        assert asked == [(c, q) for c in cells for q in ("day", "docks", "age", "helmet", "ceo")]

    def test_gives_every_mean_its_counts(self, stored):
        for cell in stored.run.cells:
            recall, abstention = cell.scores["passage_recall@2"], cell.scores["abstention"]
            assert (recall.n, recall.failed, recall.not_scored) == (4, 0, 1)
            assert (abstention.n, abstention.failed, abstention.not_scored) == (5, 0, 0)

    def test_names_no_absolute_path_and_no_nan(self, stored):
        for path in filter(Path.is_file, stored.folder.rglob("*")):
            text = path.read_text(encoding="utf-8")
            assert str(stored.folder.parent) not in text, path.name
            # The page's script asks whether a reader's bound is a number.
            assert "NaN" not in text.replace("Number.isNaN(", ""), path.name


def records(finished):
    lines = (finished.folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


def test_too_many_failures_stop_the_run_and_keep_what_was_done(tmp_path):
    config = project(tmp_path, retrievers=["bm25"], max_failures=0.2)
    with pytest.raises(RunError, match=r"429 Too Many Requests") as caught:
        api.run(with_generator(config, Faulty(fails_on="a")), quiet)

    assert caught.value.status == 3
    assert "'max_failures: 0.2' allows" in str(caught.value).replace("`", "'")
    stored = only_run(tmp_path)
    assert stored.run.status == "failed"
    assert 2 <= len(stored.records) < 10
    assert (stored.folder / "report.html").is_file()


def test_ctrl_c_keeps_the_cells_done_and_their_report(tmp_path):
    config = project(tmp_path, retrievers=["bm25"])
    prepared = runner.prepare(load(config, [], {}))
    first, second = prepared.config.cells
    cells = (first, replace(second, generator=Faulty(interrupted_at="docks")))
    prepared = replace(prepared, config=replace(prepared.config, cells=cells))

    with pytest.raises(KeyboardInterrupt):
        api.run(prepared, quiet)

    stored = only_run(tmp_path)
    assert stored.run.status == "interrupted"
    assert [cell.asked for cell in stored.run.cells] == [5, 1]
    assert "interrupted" in (stored.folder / "report.md").read_text(encoding="utf-8")


def only_run(folder) -> reader.StoredRun:
    (found,) = runs(folder)
    return reader.load(found)


def runs(folder) -> Iterator:
    return (path for path in (folder / "reports").iterdir() if path.is_dir())


def test_a_retriever_with_a_score_that_is_not_finite_ends_the_run(tmp_path):
    @dataclass(frozen=True)
    class Broken(Retriever):
        name = "broken"
        version = 1
        uses_vectors = False

        def retrieve(self, questions, index, k):
            from harness.records import Hit

            return [[Hit(index.chunks[0], 1.0), Hit(index.chunks[1], float("nan"))]] * len(
                questions
            )

    loaded = load(project(tmp_path, retrievers=["bm25"]), [], {})
    cells = tuple(replace(cell, retriever=Broken()) for cell in loaded.cells)

    with pytest.raises(RunError, match=r"'broken', question 'day': the score at rank 2 is nan"):
        api.run(runner.prepare(replace(loaded, cells=cells)), quiet)


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
