"""`export`: a stored run for other tools, with the numbers it holds."""

import csv
import json
import shutil
import sys
from dataclasses import replace

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from harness import api
from harness.config.run_config import load
from harness.errors import HarnessError
from harness.files import trec
from harness.records import Failure, Missed, StoredHit
from harness.runs import evaluate_rankings, runner
from harness.store import exports, reader
from harness.store.exports import export
from tests.support.small import QUESTIONS, project

METRICS = [
    "ndcg(labels=documents)@5",
    "ap(labels=documents)",
    "mrr(labels=documents)",
    "recall(labels=documents)@2",
    "precision(labels=documents)@2",
    "judged@5",
]
SCORES = [*METRICS, "token_f1", "corpus_bleu", "abstention"]


def hostile(questions):
    """Return the questions with ids and categories that a spreadsheet or TREC may trip over."""
    renamed = {"day": "-1218875241352839456", "docks": "=1+1", "age": '@a,"b"', "helmet": "é"}
    return [
        {**each, "id": renamed.get(each["id"], each["id"]), "category": "=cmd|' /C calc'!A0"}
        for each in questions
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a stored run of the small project: four cells, five questions."""
    folder = tmp_path_factory.mktemp("export")
    config = load(project(folder, hostile(QUESTIONS), metrics=SCORES), [], {})
    return reader.load(api.run(runner.prepare(config), lambda *_: None).folder)


def ranking(run, cell, question):
    """Return the documents of one stored ranking, each at its first hit."""
    (found,) = [r for r in run.records if (r.cell, r.question) == (cell, question)]
    return list(dict.fromkeys(hit.doc for hit in found.hits))


def by_score(scores):
    return sorted(scores, key=scores.get, reverse=True)


def test_each_cell_becomes_a_run_that_ranks_documents_as_it_did(run, tmp_path):
    *files, qrels = export(run, "trec", tmp_path / "out")

    assert qrels.name == "qrels.txt"
    assert len(files) == len(run.run.cells) == 4
    for number, (file, cell) in enumerate(zip(files, run.run.cells, strict=True), start=1):
        assert file.name.startswith(f"{number}-{cell.chunker.split('(')[0]}")
        for question, scores in trec.read_run(file).items():
            assert by_score(scores) == ranking(run, cell.name, question)


def test_an_exported_run_is_evaluated_to_the_runs_own_means(run, tmp_path):
    *files, qrels = export(run, "trec", tmp_path)

    for file, cell in zip(files, run.run.cells, strict=True):
        found = evaluate_rankings.evaluate_run(
            trec.read_qrels(qrels),
            trec.read_run(file),
            [name.replace("(labels=documents)", "") for name in METRICS],
        )
        for name in METRICS:
            stored, read = cell.scores[name], found.means[name.replace("(labels=documents)", "")]
            assert (read.mean, read.n) == (stored.mean, stored.n), name
            assert (read.low, read.high) == (stored.low, stored.high)


def test_the_command_line_evaluates_what_it_exported(run, cli, tmp_path):
    said = cli("export", "trec", run.folder, "-o", tmp_path)
    *files, qrels = said.out.splitlines()

    found = cli("evaluate", "--qrels", qrels, "--run", files[0], "-m", "ndcg@5", "--json")

    mean = json.loads(found.out)["metrics"]["ndcg@5"]["mean"]
    assert mean == run.run.cells[0].scores["ndcg(labels=documents)@5"].mean


def test_an_independent_evaluation_agrees(run, tmp_path):
    *files, qrels = export(run, "trec", tmp_path)
    gold = list(ir_measures.read_trec_qrels(str(qrels)))

    for file, cell in zip(files, run.run.cells, strict=True):
        ranked = list(ir_measures.read_trec_run(str(file)))
        found = ir_measures.calc_aggregate([ir_measures.nDCG @ 5, ir_measures.AP], gold, ranked)
        assert found[ir_measures.nDCG @ 5] == pytest.approx(
            cell.scores["ndcg(labels=documents)@5"].mean, abs=1e-6
        )
        assert found[ir_measures.AP] == pytest.approx(
            cell.scores["ap(labels=documents)"].mean, abs=1e-6
        )


def test_chunks_are_kept_apart_when_told(run, tmp_path):
    files = export(run, "trec", tmp_path, chunks=True)

    assert [each.name for each in files if each.name == "qrels.txt"] == []
    record = run.records[0]
    lines = [line.split() for line in files[0].read_text("utf-8").splitlines()]
    assert [line[2] for line in lines if line[0] == record.question] == [
        f"{hit.doc}:{hit.start}-{hit.end}" for hit in record.hits
    ]
    assert {line[1] for line in lines} == {"Q0"}
    assert [line[3] for line in lines if line[0] == record.question] == [
        str(rank) for rank in range(1, len(record.hits) + 1)
    ]


def test_a_failed_question_has_no_line_and_is_evaluated_as_failed(run, tmp_path):
    cell = run.run.cells[0].name
    failed = tuple(
        replace(record, error=Failure(stage="retrieval", reason="gone"))
        if (record.cell, record.question) == (cell, "é")
        else record
        for record in run.records
    )
    broken = reader.StoredRun(run.folder, run.run, failed, run.questions, run.texts)

    *files, qrels = export(broken, "trec", tmp_path)

    found = evaluate_rankings.evaluate_run(trec.read_qrels(qrels), trec.read_run(files[0]), ["mrr"])
    assert found.missing == ("é",)
    assert "é" in trec.read_run(files[1])


def test_a_question_that_found_nothing_has_no_line_and_counts_as_with_dash_c(run, tmp_path):
    cell = run.run.cells[0].name
    records = tuple(
        replace(record, hits=[]) if (record.cell, record.question) == (cell, "é") else record
        for record in run.records
    )
    broken = reader.StoredRun(run.folder, run.run, records, run.questions, run.texts)

    first, *_, qrels = export(broken, "trec", tmp_path)

    judged, ranked = trec.read_qrels(qrels), trec.read_run(first)
    theirs = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(ranked)
    ours = evaluate_rankings.evaluate_run(judged, ranked, ["mrr"])
    values = [each["recip_rank"] for each in theirs.values()]
    assert judged.keys() - theirs.keys() == {"é"}  # without -c it is in no mean
    assert ours.means["mrr"].mean == pytest.approx(sum(values) / len(judged))


@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0, 0.1]),
        max_size=30,
    )
)
def test_written_scores_fall_in_single_precision_whatever_was_stored(found):
    found = sorted(found, reverse=True)

    written = np.array([float(each) for each in exports._strictly_falling(found)])

    assert len(written) == len(found)
    assert np.isfinite(written.astype(np.float32)).all()
    assert (np.diff(written.astype(np.float32)) < 0).all()


def test_scores_that_fall_already_are_written_as_they_are():
    assert exports._strictly_falling([0.75, 0.5, 0.125]) == ["0.75", "0.5", "0.125"]
    assert exports._strictly_falling([0.5, 0.5]) == ["0.5", "0.49999997"]
    assert exports._strictly_falling([1.0, -1e300]) == ["2", "1"]


@pytest.mark.parametrize("id_", ["my file.md", "a\u00a0b", "", "#a", "a\tb"])
def test_ids_that_trec_cannot_hold_are_refused(run, tmp_path, id_):
    hits = [StoredHit(doc=id_, start=0, end=1, score=1.0)]
    record = replace(run.records[0], hits=hits)
    broken = reader.StoredRun(run.folder, run.run, (record,), run.questions, run.texts)

    with pytest.raises(HarnessError, match="has no place in a TREC file"):
        export(broken, "trec", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def expected(run):
    """Return what the tables hold, from the stored run: key to value, state and reason."""
    return {
        (record.cell, record.question, name): (score.value, score.state)
        for record in run.records
        for name, score in record.scores.items()
    }


def unescaped(text):
    return text[1:] if text.startswith("'") else text


def test_csv_holds_every_score_to_the_last_digit(run, tmp_path):
    (path,) = export(run, "csv", tmp_path / "scores.csv")

    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {
        (row["cell"], unescaped(row["question"]), row["metric"]): (
            float(row["value"]) if row["value"] else None,
            row["state"],
        )
        for row in rows
    } == expected(run)
    assert len(rows) == 4 * 5 * len(SCORES)
    assert {row["run"] for row in rows} == {run.run.id}
    assert {row["retriever"] for row in rows} == {"dense", "bm25"}
    assert {row["answerable"] for row in rows} == {"True", "False"}
    (whole, *_) = [
        row for row in rows if row["metric"] == "corpus_bleu" and row["state"] == "scored"
    ]
    assert (whole["value"], whole["reason"]) == ("", "adds to a value of the whole set")


def test_no_cell_of_csv_is_a_formula_and_negative_ids_stay_numbers(run, tmp_path):
    (path,) = export(run, "csv", tmp_path / "scores.csv")

    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["question"] for row in rows} == {
        "-1218875241352839456",
        "'=1+1",
        '\'@a,"b"',
        "é",
        "ceo",
    }
    assert {row["category"] for row in rows} == {"'=cmd|' /C calc'!A0"}


def test_parquet_holds_the_same_to_the_letter(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (path,) = export(run, "parquet", tmp_path / "new" / "scores.parquet")

    table = parquet.read_table(path)
    rows = table.to_pylist()

    assert {
        (row["cell"], row["question"], row["metric"]): (row["value"], row["state"]) for row in rows
    } == expected(run)
    assert {row["category"] for row in rows} == {"=cmd|' /C calc'!A0"}
    assert str(table.schema.field("value").type) == "double"
    assert str(table.schema.field("answerable").type) == "bool"
    assert str(table.schema.field("embedder").type) == "string"


def test_without_pyarrow_parquet_says_what_to_install(run, cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    said = cli("export", "parquet", run.folder, "-o", tmp_path / "a.parquet")

    assert said.status == 2
    assert "pip install 'pyarrow>=18'" in said.err


@pytest.mark.parametrize("form", ["trec", "csv", "parquet"])
def test_a_file_that_is_there_is_replaced_only_when_told(run, cli, tmp_path, form):
    pytest.importorskip("pyarrow")
    out = tmp_path / "out"
    first = cli("export", form, run.folder, "-o", out)
    files = [tmp_path / line for line in first.out.splitlines()]
    files[-1].write_text("mine")

    again = cli("export", form, run.folder, "-o", out)

    assert first.status == 0
    assert again.status == 2
    assert "is there already\n  write elsewhere, or replace it: --force" in again.err
    assert files[-1].read_text() == "mine"
    assert cli("export", form, run.folder, "-o", out, "--force").status == 0
    assert files[-1].read_bytes() != b"mine"


def test_what_cannot_be_exported_is_refused(run, cli, tmp_path):
    out = tmp_path / "out"
    (tmp_path / "file").write_text("")
    cases = {
        (
            "xlsx",
            run.folder,
            "-o",
            out,
        ): "unknown format 'xlsx'\n  choose from: trec, csv, parquet, triplets",
        ("csv", tmp_path, "-o", out): "run.json: is not there",
        ("csv", run.folder, "-o", out, "--chunks"): "--chunks belongs to trec",
        ("csv", run.folder, "-o", tmp_path / "file" / "a.csv"): "cannot be written",
        ("parquet", run.folder, "-o", tmp_path / "file" / "a.parquet"): "cannot be written",
        ("csv", run.folder, "-o", tmp_path, "--force"): "is there, and is no file",
        ("parquet", run.folder, "-o", tmp_path, "--force"): "is there, and is no file",
    }
    for arguments, text in cases.items():
        said = cli("export", *arguments)
        assert said.status == 2, said
        assert text in said.err
        assert "Traceback" not in said.err
    assert not out.exists()


def test_a_run_without_documents_judged_has_no_judgements_to_export(tmp_path):
    questions = [{k: v for k, v in each.items() if k != "documents"} for each in QUESTIONS]
    config = load(project(tmp_path, questions, metrics=["token_f1"]), [], {})
    stored = reader.load(api.run(runner.prepare(config), lambda *_: None).folder)

    assert all(each.suffix == ".trec" for each in export(stored, "trec", tmp_path / "out"))


@pytest.mark.slow
def test_a_published_benchmark_is_evaluated_by_its_own_judgements(test_data, tmp_path):
    folder = tmp_path / "set"
    shutil.copytree(test_data / "xquad-en", folder)
    config = load(
        project(
            tmp_path,
            corpus=str(folder),
            testset=str(folder),
            chunkers=["sentence"],
            retrievers=["bm25"],
            generators=["none"],
            labels="documents",
            retrieve=50,
            metrics=["ndcg@10", "ap", "recall@10"],
        ),
        [],
        {},
    )
    stored = reader.load(api.run(runner.prepare(config), lambda *_: None).folder)
    file, _ = export(stored, "trec", tmp_path / "out")

    found = evaluate_rankings.evaluate_run(
        trec.read_qrels(folder / "qrels" / "test.tsv"),
        trec.read_run(file),
        ["ndcg@10", "ap", "recall@10"],
    )

    for name, mean in found.means.items():
        assert mean.mean == stored.run.cells[0].scores[name].mean


class TestTriplets:
    """q1: right below two wrong hits; q2: one wrong hit above what was missed; q3: not judged."""

    def stored(self, run):
        texts = {("a.md", at, at + 1): name for at, name in enumerate(["w1", "w2", "right", "far"])}
        hits = {
            "q1": [(0, 0), (1, 0), (2, 1)],
            "q2": [(2, 1), (1, 0)],
            "q3": [(0, None), (2, 1)],
        }
        base = run.records[0]
        records = [
            replace(
                base,
                question=id_,
                hits=[
                    StoredHit(doc="a.md", start=at, end=at + 1, score=1.0 / (rank + 1), grade=grade)
                    for rank, (at, grade) in enumerate(some)
                ],
                missed=[Missed(doc="a.md", start=3, end=4, grade=1, rank=40)]
                if id_ == "q2"
                else [],
            )
            for id_, some in hits.items()
        ]
        line = next(iter(run.questions.values()))
        questions = {id_: replace(line, id=id_, text=f"{id_}?") for id_ in hits}
        return replace(run, records=(*records, records[0]), questions=questions, texts=texts)

    def test_each_wrong_hit_above_a_relevant_chunk_is_one_and_only_once(self, run, tmp_path):
        export(self.stored(run), "triplets", tmp_path / "t.jsonl")

        lines = (tmp_path / "t.jsonl").read_text("utf-8").splitlines()
        assert [tuple(json.loads(line).values()) for line in lines] == [
            ("q1?", "right", "w1"),
            ("q1?", "right", "w2"),
            ("q2?", "far", "w2"),
        ]
        assert list(json.loads(lines[0])) == ["anchor", "positive", "negative"]
