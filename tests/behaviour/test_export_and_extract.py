"""`export` hands a stored run on in every form; `extract` shows the text that files are read as."""

import csv
import json
from math import log2
from pathlib import Path

import pytest

import harness
from tests.behaviour import stations
from tests.behaviour.golden import check_numbers
from tests.support.office import docx, pdf


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    stations.write(folder)
    rows = stations.lines(folder / "testset.jsonl")
    for number, row in enumerate(rows):
        row["documents"] |= {f"{(number + step) % 12}.md": 0 for step in (1, 2)}
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / "testset.jsonl").write_text(text, "utf-8")
    return folder


@pytest.fixture
def run(shelf, cli, tmp_path, monkeypatch):
    """Return a run of one system that answers half its questions; the working directory is new."""
    if not (shelf / "reports").exists():
        monkeypatch.chdir(shelf)
        made = stations.Stations(shelf, cli)
        made.answer(
            "a.jsonl", [stations.right(number) if number < 6 else "=1+1" for number in range(12)]
        )
        system = {"trec_run": "app.run", "label": "app", "answers": "a.jsonl"}
        made.run(stations.WORSE, system=system, metrics=["mrr@3", "exact_match"])
    monkeypatch.chdir(tmp_path)
    (folder,) = (shelf / "reports").glob("2*")
    return folder


class TestTrec:
    def test_a_run_and_its_judgements_score_as_the_run_did(self, run, cli):
        result = cli("export", "trec", run, "-o", "out")
        file, qrels = result.out.splitlines()
        scored = cli(
            "evaluate", "--qrels", qrels, "--run", file, "-m", "mrr@3", "-m", "ndcg@3", "--json"
        )
        metrics = json.loads(scored.out)["metrics"]

        assert result.status == 0
        assert Path(qrels).name == "qrels.txt"
        assert metrics["mrr@3"]["mean"] == pytest.approx(37 / 72)
        assert metrics["ndcg@3"]["mean"] == pytest.approx((4 + 3 / log2(3) + 2 / 2) / 12)

    def test_documents_stand_in_the_order_of_the_run_with_falling_scores(self, run, cli):
        file, qrels = cli("export", "trec", run, "-o", "out").out.splitlines()
        rows = [line.split() for line in Path(file).read_text("utf-8").splitlines()]

        assert len(rows) == 36
        assert [(row[2], row[3]) for row in rows if row[0] == "q4"] == [
            ("5.md", "1"), ("4.md", "2"), ("6.md", "3"),
        ]  # fmt: skip
        scores = [float(row[4]) for row in rows if row[0] == "q4"]
        assert scores == sorted(set(scores), reverse=True)
        assert Path(qrels).read_text("utf-8").splitlines()[0].split() == ["q0", "0", "0.md", "1"]

    def test_chunks_stay_apart_where_that_is_asked_for(self, run, cli):
        (file,) = cli("export", "trec", run, "-o", "out", "--chunks").out.splitlines()
        first = Path(file).read_text("utf-8").splitlines()[0].split()

        assert first[:4] == ["q0", "Q0", "0.md:0-35", "1"]


class TestTables:
    def test_csv_has_a_row_a_question_and_metric_to_the_last_digit(self, run, cli):
        result = cli("export", "csv", run, "-o", "scores.csv")
        with Path("scores.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        values = {(row["question"], row["metric"]): row["value"] for row in rows}

        assert result.status == 0
        assert len(rows) == 24
        assert values["q7", "mrr@3"] == str(1 / 3)
        assert [float(values[f"q{number}", "mrr@3"]) for number in range(12)] == [
            1 / place if place else 0 for place in stations.WORSE
        ]
        assert {row["cell"] for row in rows} == {"app"}
        assert {row["category"] for row in rows} == {"even", "odd"}
        assert {row["state"] for row in rows} == {"scored"}

    def test_parquet_holds_the_same(self, run, cli):
        parquet = pytest.importorskip("pyarrow.parquet")
        cli("export", "csv", run, "-o", "scores.csv")
        cli("export", "parquet", run, "-o", "scores.parquet")
        table = parquet.read_table("scores.parquet")
        with Path("scores.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))

        assert str(table.schema.field("value").type) == "double"
        assert table.column_names == list(rows[0])
        assert [(row["question"], row["metric"], row["value"]) for row in table.to_pylist()] == [
            (row["question"], row["metric"], float(row["value"])) for row in rows
        ]

    def test_no_cell_of_csv_is_a_formula(self, project, cli):
        row = {"question": "How far away is the Moon?", "documents": {"moon.md": 1}}
        project.testset({**row, "id": "=1+1", "category": "=cmd|' /C calc'!A0"})
        project.config(labels="documents", metrics=["mrr@2"], retrievers=["bm25"])
        folder = json.loads(cli("run", "config.yaml", "--json").out)["run"]
        cli("export", "csv", folder, "-o", "scores.csv")
        with Path("scores.csv").open(newline="", encoding="utf-8") as file:
            (row,) = csv.DictReader(file)

        assert (row["question"], row["category"]) == ("'=1+1", "'=cmd|' /C calc'!A0")


def test_triplets_have_the_wrong_hits_above_each_relevant_chunk(run, cli):
    result = cli("export", "triplets", run, "-o", "t.jsonl")
    rows = stations.lines(Path("t.jsonl"))
    seventh, _ = [row for row in rows if "station 7?" in row["anchor"]]

    assert result.status == 0
    # Three questions have theirs at place 2 and two at place 3: 3 + 2 * 2 wrong hits above.
    assert len(rows) == 7
    assert seventh == {
        "anchor": "How many docks has station 7?",
        "positive": "Station 7 has 37 docks of its own.\n",
        "negative": "Station 8 has 38 docks of its own.\n",
    }


def test_what_a_grid_exports_is_as_before(project, cli):
    project.config(
        retrievers=["dense", "bm25"], chunkers=[{"fixed": {"size": 40}}], index={"exact": True}
    )
    folder = json.loads(cli("run", "config.yaml", "--json").out)["run"]
    *files, qrels = cli("export", "trec", folder, "-o", "out", "--force").out.splitlines()
    chunks = cli("export", "trec", folder, "-o", "chunks", "--chunks").out.splitlines()
    cli("export", "csv", folder, "-o", "scores.csv")
    cli("export", "triplets", folder, "-o", "t.jsonl")
    with Path("scores.csv").open(newline="", encoding="utf-8") as file:
        rows = [[row["cell"], row["question"], row["metric"], row["value"], row["state"]]
                for row in csv.DictReader(file)]  # fmt: skip

    check_numbers("export-documents", [harness.read_run(Path(file)) for file in files])
    check_numbers("export-chunks", [harness.read_run(Path(file)) for file in chunks])
    check_numbers("export-judgements", harness.read_qrels(Path(qrels)))
    check_numbers(
        "export-table", [[*row[:3], float(row[3]) if row[3] else None, row[4]] for row in rows]
    )
    check_numbers("export-triplets", stations.lines(Path("t.jsonl")))


@pytest.mark.parametrize("form", ["trec", "csv", "triplets"])
def test_what_is_there_is_replaced_only_by_force(run, cli, form):
    first = cli("export", form, run, "-o", "out")
    file = Path(first.out.splitlines()[-1])
    file.write_text("mine")
    again = cli("export", form, run, "-o", "out")

    assert (first.status, again.status) == (0, 2)
    assert "is there already" in again.err
    assert file.read_text() == "mine"
    assert cli("export", form, run, "-o", "out", "--force").status == 0
    assert file.read_text() != "mine"


def test_an_unknown_form_and_a_folder_without_a_run_are_refused(run, cli):
    unknown = cli("export", "xlsx", run, "-o", "a")
    nothing = cli("export", "csv", ".", "-o", "a.csv")
    wrong = cli("export", "csv", run, "-o", "a.csv", "--chunks")

    assert [result.status for result in (unknown, nothing, wrong)] == [2, 2, 2]
    assert "choose from: trec, csv, parquet, triplets" in unknown.err
    assert "run.json: is not there" in nothing.err
    assert "--chunks belongs to trec" in wrong.err


class TestExtract:
    @pytest.fixture
    def files(self, project):
        project.document("a/phobos.pdf", pdf("Phobos is near.", "Deimos is far."))
        project.document("b.docx", docx("# B", "Text."))
        project.document("c.html", "<title>C</title><script>1</script><h1>C</h1><p>Here.</p>")
        return project

    def test_the_text_of_each_converted_file_is_shown(self, files, cli):
        result = cli("extract", "corpus")

        assert result.status == 0
        assert result.out == (
            "==> a/phobos.pdf <==\nPhobos is near.\n\f\nDeimos is far.\n\n"
            "==> b.docx <==\n# B\n\nText.\n\n"
            "==> c.html <==\n# C\n\nHere.\n\n"
        )

    def test_files_are_written_where_out_names_and_replaced_only_by_force(self, files, cli):
        result = cli("extract", "corpus", "-o", "out")
        again = cli("extract", "corpus", "-o", "out")
        inside = cli("extract", "corpus", "-o", "corpus/text")

        assert result.out.splitlines() == ["out/a/phobos.pdf.txt", "out/b.docx.md", "out/c.html.md"]
        assert Path("out/b.docx.md").read_text("utf-8") == "# B\n\nText."
        assert (again.status, inside.status) == (2, 2)
        assert "lies in the corpus" in inside.err
        assert cli("extract", "corpus", "-o", "out", "--force").status == 0

    def test_a_corpus_is_named_as_in_a_configuration(self, project, cli):
        Path("faq.csv").write_text("id,q,a\nr1,Who?,Me\nr2,Why?,\n", "utf-8")
        result = cli("extract", "{csv: {path: faq.csv, text: [q, a]}}")

        assert result.out == "==> r1 <==\nq: Who?\na: Me\n\n==> r2 <==\nq: Why?\n\n"

    def test_where_there_is_nothing_to_extract_it_says_so(self, project, cli):
        result = cli("extract", "corpus")

        assert (result.status, result.out) == (2, "")
        assert "no file that must be converted" in result.err
