"""A whole run in process: what is stored, what is shared, and what a failure or Ctrl-C leaves."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from harness import api
from harness.config.run_config import load
from harness.errors import RunError, StageError
from harness.records import Answer
from harness.retrievers import Retriever
from harness.runs import runner
from harness.store import reader
from tests.small import project


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

    def test_judges_every_question_it_can(self, stored):
        by_question = {
            r.question: r for r in stored.records if r.cell.startswith("markdown × bm25")
        }

        assert by_question["day"].scores["passage_recall@2"].value == 1.0
        assert by_question["day"].answer == "A day pass costs 6 dollars."
        assert by_question["day"].scores["token_f1"].value == 1.0
        assert by_question["ceo"].scores["passage_recall@2"].value is None
        assert by_question["ceo"].scores["passage_recall@2"].state == "not_scored"
        assert by_question["ceo"].scores["abstention"].value == 1.0
        assert by_question["ceo"].declined is True

    def test_gives_every_mean_its_counts(self, stored):
        for cell in stored.run.cells:
            recall, abstention = cell.scores["passage_recall@2"], cell.scores["abstention"]
            assert (recall.n, recall.failed, recall.not_scored) == (4, 0, 1)
            assert (abstention.n, abstention.failed, abstention.not_scored) == (5, 0, 0)

    def test_stores_spans_whose_text_is_the_documents(self, stored, tmp_path):
        documents = {
            path.name: path.read_text()
            for path in (stored.folder.parent.parent / "corpus").iterdir()
        }
        hits = [hit for record in stored.records for hit in record.hits]

        assert hits
        for hit in hits:
            text = stored.texts[(hit.doc, hit.start, hit.end)]
            assert documents[hit.doc][hit.start : hit.end] == text

    def test_names_no_absolute_path_and_no_nan(self, stored):
        for path in filter(Path.is_file, stored.folder.rglob("*")):
            text = path.read_text(encoding="utf-8")
            assert str(stored.folder.parent) not in text, path.name
            # The page's script asks whether a reader's bound is a number.
            assert "NaN" not in text.replace("Number.isNaN(", ""), path.name

    def test_is_finished_with_both_reports(self, stored):
        assert stored.run.status == "finished"
        names = {path.name for path in stored.folder.iterdir()}
        assert names == {
            "run.json", "records.jsonl", "questions.jsonl", "texts.jsonl",
            "report.html", "report.md", "report.json", "charts", "sums.json",
        }  # fmt: skip

    def test_records_what_it_was_made_with(self, stored):
        about = stored.run.provenance
        assert about.seed == 7
        assert about.labels == "evidence"
        assert about.corpus["documents"] == 3
        assert about.testset["questions"] == 5
        assert about.testset["unanswerable"] == 1
        assert about.metrics["recall@2"].within_chunker is True
        assert about.metrics["hit_rate@2"].within_chunker is False
        assert about.metrics["passage_recall@2"].own_chunks is False
        assert {"name": "hashing", "version": 2, "dimensions": 384} in [
            {k: v for k, v in model.items() if k != "used_by"} for model in about.models
        ]


def test_a_second_run_builds_no_index_and_scores_the_same(tmp_path):
    config = project(tmp_path)
    first, second = run(config), run(config)

    assert first.run.cache["index"] == {"made": 2, "reused": 0}
    assert all(counts["made"] == 0 for counts in second.run.cache.values())
    assert [cell.scores for cell in first.run.cells] == [cell.scores for cell in second.run.cells]
    assert records(first) == records(second)


def records(finished):
    lines = (finished.folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


def test_an_edited_document_is_never_answered_from_the_old_index(tmp_path):
    config = project(tmp_path)
    run(config)
    fares = tmp_path / "corpus" / "fares.md"
    fares.write_text(fares.read_text().replace("6 dollars", "6 dollars only"))
    rows = (tmp_path / "testset.jsonl").read_text().replace("6 dollars.", "6 dollars only.")
    (tmp_path / "testset.jsonl").write_text(rows)

    again = run(config)

    assert again.run.cache["index"] == {"made": 2, "reused": 0}
    hits = [hit for record in reader.load(again.folder).records for hit in record.hits]
    texts = reader.load(again.folder).texts
    assert any("6 dollars only" in texts[(hit.doc, hit.start, hit.end)] for hit in hits)


def test_limit_asks_only_the_first_questions(tmp_path):
    prepared = runner.prepare(load(project(tmp_path), [], {}), limit=2)
    finished = api.run(prepared, quiet)

    assert [cell.asked for cell in finished.run.cells] == [2, 2, 2, 2]


class TestAFailure:
    @pytest.fixture
    def failed(self, tmp_path):
        config = project(tmp_path, retrievers=["bm25"], max_failures=0.5)
        finished = api.run(with_generator(config, Faulty(fails_on="docks")), quiet)
        return reader.load(finished.folder)

    def test_is_recorded_with_its_reason_and_has_no_number(self, failed):
        record = next(r for r in failed.records if r.question == "docks")

        assert record.error is not None
        assert (record.error.stage, record.error.reason) == ("generation", "429 Too Many Requests")
        assert record.scores["token_f1"].value is None
        assert record.scores["token_f1"].state == "failed"

    def test_leaves_retrieval_metrics_scored(self, failed):
        record = next(r for r in failed.records if r.question == "docks")

        assert record.scores["hit_rate@2"].value == 1.0

    def test_counts_as_nothing_in_the_mean_and_not_in_the_mean_of_the_finished(self, failed):
        score = failed.run.cells[0].scores["token_f1"]

        assert (score.n, score.failed, score.not_scored) == (4, 1, 1)
        assert score.mean == pytest.approx(score.mean_finished * 3 / 4)


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
