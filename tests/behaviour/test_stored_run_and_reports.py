"""What a run leaves behind: a summary in the terminal, reports, and the files they rest on."""

import base64
import hashlib
import json
import re
import shutil

import pytest

from tests.behaviour import harbour
from tests.behaviour.golden import check_numbers, check_text, run_folder, run_numbers
from tests.behaviour.servers import rows
from tests.behaviour.stations import BEST, WORSE, Stations
from tests.behaviour.stations import write as write_stations

GRID = {"chunkers": [{"fixed": {"size": 60}}, "markdown"], "retrievers": ["dense", "bm25"]}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("stored")


@pytest.fixture
def run(place, cli, monkeypatch):
    """Return the folder of one run of four cells, the same for all tests of this file."""
    monkeypatch.chdir(place)
    if not (place / "summary.txt").exists():
        harbour.write(place, **GRID)
        said = cli("run", "config.yaml")
        assert said.status == 0, said.err
        (place / "summary.txt").write_text(said.out, "utf-8")
    return run_folder(place)


@pytest.fixture
def stations(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_stations(tmp_path)
    return Stations(tmp_path, cli)


def pages(folder):
    return {path.name: path.read_text("utf-8") for path in folder.glob("*.html")}


def policy(page: str) -> str:
    (content,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    return content


def digests(page: str, element: str) -> list[str]:
    """Return the hashes that a policy must name for each element of one kind."""
    texts = re.findall(rf"<{element}>(.*?)</{element}>", page, flags=re.DOTALL)
    hashes = [hashlib.sha256(text.encode()).digest() for text in texts]
    return [f"'sha256-{base64.b64encode(value).decode()}'" for value in hashes]


def test_the_terminal_says_the_verdict_the_scores_and_where_the_report_lies(run, place):
    summary = (place / "summary.txt").read_text("utf-8")
    assert summary.startswith("No difference could be shown.\n")
    assert re.search(r"A +1\.000 .* markdown × dense \(floor\)\n", summary)
    assert f"report: reports/{run.name}/report.html" in summary
    check_text("terminal_grid", summary, place)


def test_the_numbers_of_a_run_of_four_cells_are_as_before(run):
    check_numbers("stored_run", run_numbers(run))


def test_the_report_holds_the_verdict_and_asks_no_network(run, place):
    page = pages(run)["report.html"]
    assert "No difference could be shown." in page
    assert set(re.findall(r"https?://[^\"' <)]*", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.findall(r"(?:src|href)=[\"']?//|@import|url\(", page)
    assert len(page) < 25_000_000
    assert policy(page) == (
        f"default-src 'none'; script-src {' '.join(digests(page, 'script'))}; "
        f"style-src {' '.join(digests(page, 'style'))}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_the_index_of_all_runs_names_each_and_runs_no_script(run, place):
    page = pages(place / "reports")["index.html"]
    assert f'href="{run.name}/report.html"' in page
    assert "<script" not in page
    assert "script-src" not in policy(page)
    assert digests(page, "style")[0] in policy(page)


def test_the_verdict_for_machines_holds_the_main_score(run):
    verdict = json.loads((run / "report.json").read_text("utf-8"))
    assert verdict["run"] == run.name
    assert (verdict["status"], verdict["by"]) == ("finished", "passage_recall@2")
    assert verdict["verdict"]["headline"] == "No difference could be shown."
    score = {"cell": "markdown × bm25", "mean": 1.0, "low": None, "high": None, "n": 5}
    assert verdict["score"] == {**score, "name": "markdown × bm25 × extractive"}
    assert [verdict[key] for key in ("cells", "questions", "failed")] == [4, 6, 0]


def test_reports_are_made_again_to_the_byte_from_the_stored_run_alone(run, tmp_path, cli):
    copy = tmp_path / run.name
    shutil.copytree(run, copy)
    before = {path.name: path.read_bytes() for path in copy.glob("report.*")}
    charts = {path.name: path.read_bytes() for path in copy.glob("charts/*")}
    for name in before:
        (copy / name).unlink()
    shutil.rmtree(copy / "charts")
    said = cli("report", copy)
    assert said.status == 0, said.err
    assert {path.name: path.read_bytes() for path in copy.glob("report.*")} == before
    assert {path.name: path.read_bytes() for path in copy.glob("charts/*")} == charts


def test_the_report_in_markdown_is_small_and_its_charts_are_there(run):
    text = (run / "report.md").read_text("utf-8")
    assert len(text.encode()) < 60_000
    charts = re.findall(r"\]\((charts/[\w-]+\.svg)\)", text)
    assert len(charts) > 5
    assert all((run / chart).read_text("utf-8").startswith("<svg") for chart in charts)


def test_the_report_in_markdown_of_one_cell_is_as_before(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    harbour.write(tmp_path, retrievers=["bm25"], targets={"token_f1": 0.9})
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    assert "target token_f1 0.9: undecided A" in said.out
    check_text("report_of_one_cell", without_machine(run_folder(tmp_path)), tmp_path)


def test_the_report_of_a_shown_difference_ships_the_better_system(stations):
    stations.rank("worse.run", [*WORSE[:4], *[0] * 8])
    systems = [
        {"trec_run": {"path": "app.run", "label": "app"}},
        {"trec_run": {"path": "worse.run", "label": "worse"}},
    ]
    folder = stations.run(BEST, system=systems, baseline={"system": "worse"})
    verdict = json.loads((folder / "report.json").read_text("utf-8"))["verdict"]
    assert verdict["headline"] == "Ship app."
    assert verdict["text"].startswith("It reaches hit_rate@1 1.00, 0.67 above")
    assert "Ship app." in pages(folder)["report.html"]
    check_text("report_of_systems", without_machine(folder), stations.folder)


def without_machine(folder) -> str:
    """Return report.md without what depends on the machine: the chart of latency, provenance."""
    text = (folder / "report.md").read_text("utf-8")
    head, heading, _ = text.partition("\n## Provenance")
    assert heading
    latency = r"\*\*[^\n]*\*\*\n\n!\[[^\n]*\(charts/tradeoffs\.svg\).*?</details>\n"
    return re.sub(latency, "", head, flags=re.DOTALL)


def test_a_stored_run_holds_each_question_each_answer_and_each_text_once(run):
    records, questions, texts = (
        rows(run / f"{name}.jsonl") for name in ("records", "questions", "texts")
    )
    assert len(records) == 4 * 6
    ids = [question["id"] for question in harbour.QUESTIONS]
    assert [question["id"] for question in questions] == ids
    spans = [(text["doc"], text["start"], text["end"]) for text in texts]
    chunks = [h for record in records for h in (*record["hits"], *record.get("missed", ()))]
    assert sorted(spans) == sorted({(h["doc"], h["start"], h["end"]) for h in chunks})
    day = next(record for record in records if record["question"] == "day")
    assert day["scores"]["passage_recall@2"]["value"] == 1
    assert day["context"]["hits"] == 2  # both hits of a question, the second cut or whole
    sums = json.loads((run / "sums.json").read_text("utf-8"))
    digest = hashlib.sha256((run / "records.jsonl").read_bytes()).hexdigest()
    assert digest in json.dumps(sums)


@pytest.mark.parametrize("name", ["records.jsonl", "run.json", "texts.jsonl"])
def test_a_stored_file_that_was_changed_is_refused_by_name(run, tmp_path, cli, name):
    copy = tmp_path / run.name
    shutil.copytree(run, copy)
    (copy / name).write_text((copy / name).read_text("utf-8") + " \n", "utf-8")
    said = cli("report", copy)
    assert (said.status, said.out) == (2, "")
    assert name in said.err


def test_hostile_text_stays_text_in_the_reports(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    harbour.write(tmp_path, retrievers=["bm25"])
    markup = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    question = {"id": "x", "question": f"{markup} day pass?", "answers": [markup]}
    question["documents"] = {"fares": 1}
    (tmp_path / "testset.jsonl").write_text(harbour.rows([question]), "utf-8")
    config = ["--set", "metrics=[token_f1]"]
    assert cli("run", "config.yaml", *config).status == 0
    page = pages(run_folder(tmp_path))["report.html"]
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert len(digests(page, "script")) == 1
