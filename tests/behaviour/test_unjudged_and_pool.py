"""Labels with holes: what the report says of unjudged results, and how people fill the holes."""

import csv
import json
from pathlib import Path

import pytest

from tests.behaviour.golden import check_numbers, run_folder, run_numbers
from tests.behaviour.servers import rows

METRICS = [
    "hit_rate@2",
    "precision@2",
    "mrr@2",
    "recall@2",
    "ndcg@2",
    "bpref",
    "judged@2",
]
COMMAND = "The Moon has tides for friends"
"""What a spreadsheet would run, with an equals sign before it."""


@pytest.fixture
def run(project, cli):
    """Return the folder of a run of two cells; of four documents one is judged a question."""
    project.document("tides.md", f"={COMMAND}.\n")
    project.document("phobos.md", "# Phobos\n\nPhobos is a moon of Mars and 22 km wide.\n")
    project.config(labels="documents", retrievers=["bm25", "dense"], metrics=METRICS)
    project.config(index={"exact": True}, generators=["none"])
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    return run_folder(project.folder)


def pooled(cli, run, *options, out="pool.jsonl"):
    """Return the rows of a pool."""
    said = cli("pool", run, "-o", out, *options)
    assert said.status == 0, said.err
    return rows(Path(out))


def graded(name, pool, grades):
    """Write a pool with grades by question and document; other rows stay open."""
    filled = [{**row, "grade": grades.get((row["id"], row["doc"]))} for row in pool]
    Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in filled), "utf-8")
    return name


def imported(cli, *files, options=()):
    return cli("import", "labels", *files, "--testset", "testset.jsonl", *options)


def documents(name):
    return {row["id"]: row.get("documents") for row in rows(Path(name))}


def test_what_nobody_judged_has_scores_bounds_and_scenarios(run):
    numbers = run_numbers(run)
    text = (run / "report.md").read_text("utf-8")
    told = text.partition("## Results nobody judged")[2].partition("\n## ")[0]
    (bm25, _) = numbers["cells"].values()

    # One of two documents is judged, and is relevant; of the other nothing is known.
    assert (bm25["judged@2"][0], bm25["precision@2"][0], bm25["bpref"][0]) == (0.5, 0.5, 1.0)
    assert "Of the top 2 documents 50 % are judged" in told
    assert "0.50 to 1.00" in told
    check_numbers("unjudged", numbers)


def section(cli, *options):
    """Run; return what the report says of results that nobody judged."""
    said = cli("run", "config.yaml", *options)
    assert said.status == 0, said.err
    text = (run_folder(Path.cwd()) / "report.md").read_text("utf-8")
    return text.partition("## Results nobody judged")[2].partition("\n## ")[0]


def test_the_order_is_open_or_ahead_under_every_judgement(project, run, cli):
    metrics = ["--set", "metrics=[precision@1, precision@2]"]
    # At 2 both cells have one unjudged document a question; at 1 `dense` alone has one, in all.
    at_2 = section(cli, *metrics, "--set", "decide_by=precision@2")
    at_1 = section(cli, *metrics, "--set", "decide_by=precision@1")
    pool = pooled(cli, run)
    # Of the second question both documents below are judged; the first has one for both cells.
    imported(cli, graded("pool.jsonl", pool, {("q2", "tides.md"): 0, ("q2", "phobos.md"): 1}))
    judged = ["--set", "testset=testset-judged.jsonl"]
    after = section(cli, *metrics, *judged, "--set", "decide_by=precision@2")

    assert "| open |" in at_2
    assert "ahead or equal under every judgement" in at_1
    assert "+0.250 | +0.250 | +0.250 | ahead under every judgement" in after


def test_a_pool_has_each_unjudged_document_once_and_says_nothing_of_its_rank(run, cli):
    pool = pooled(cli, run, "--k", "2")
    whole = pooled(cli, run, out="whole.jsonl")
    pairs = [(row["id"], row["doc"]) for row in whole]
    cells = json.loads((run / "run.json").read_text("utf-8"))["cells"]
    top = {
        (record["question"], hit["doc"])
        for record in rows(run / "records.jsonl")
        for hit in record["hits"][:2]
    } - {("q1", "moon.md"), ("q2", "mars.md")}

    assert {(row["id"], row["doc"]) for row in pool} == {pair for pair in top if pair[0] != "q3"}
    # Four documents less the judged one, for each of two questions; the third is unanswerable.
    assert len(pairs) == len(set(pairs)) == 6
    for row in whole:
        assert set(row) == {"item", "id", "question", "doc", "title", "text", "grade", "grades"}
        assert row["grade"] is None
        assert not any(cell["name"] in json.dumps(row) for cell in cells)


def test_the_seed_decides_the_order_of_a_pool(run, cli):
    orders = [
        [row["item"] for row in pooled(cli, run, "--seed", seed, out=f"{number}.jsonl")]
        for number, seed in enumerate((0, 0, 1, 2))
    ]

    assert orders[0] == orders[1]
    assert orders[2] != orders[0] or orders[3] != orders[0]
    assert sorted(orders[0]) == sorted(orders[2]) == sorted(orders[3])


def test_a_pool_that_is_there_is_replaced_only_by_force(run, cli):
    pooled(cli, run)
    again = cli("pool", run, "-o", "pool.jsonl")

    assert again.status == 2
    assert "pool.jsonl" in again.err
    assert cli("pool", run, "-o", "pool.jsonl", "--force").status == 0


def test_grades_come_back_as_labels_and_every_other_line_stays(run, cli):
    pool = pooled(cli, run)
    name = graded("pool.jsonl", pool, {("q1", "tides.md"): 0, ("q2", "phobos.md"): 2})
    said = imported(cli, name)
    before, after = (
        Path(file).read_text("utf-8").splitlines()
        for file in ("testset.jsonl", "testset-judged.jsonl")
    )

    assert said.status == 0, said.err
    assert "4" in said.out  # lines without a grade
    assert documents("testset-judged.jsonl") == {
        "q1": {"moon.md": 1, "tides.md": 0},
        "q2": {"mars.md": 1, "phobos.md": 2},
        "q3": None,
    }
    assert after[2] == before[2]
    assert [line.partition('"documents"')[0] for line in after] == [
        line.partition('"documents"')[0] for line in before
    ]


def test_new_labels_change_the_scores_as_they_must(run, cli):
    pool = pooled(cli, run)
    grades = {(row["id"], row["doc"]): 0 for row in pool}
    grades["q2", "phobos.md"] = 2
    imported(cli, graded("pool.jsonl", pool, grades), options=["-o", "judged.jsonl"])
    said = cli("run", "config.yaml", "--set", "testset=judged.jsonl")
    assert said.status == 0, said.err
    folder = run_folder(Path.cwd())
    scores = {
        (record["cell"], record["question"]): record["scores"]
        for record in rows(folder / "records.jsonl")
    }
    bm25 = next(cell for cell, _ in scores if "bm25" in cell)
    value = {name: score["value"] for name, score in scores[bm25, "q2"].items()}

    # mars.md has grade 1 and stands first, phobos.md has grade 2 and stands second.
    gain, ideal = 1 + 2 / 1.584962500721156, 2 + 1 / 1.584962500721156
    assert value == pytest.approx(
        {
            "hit_rate@2": 1.0,
            "precision@2": 1.0,
            "mrr@2": 1.0,
            "recall@2": 1.0,
            "ndcg@2": gain / ideal,
            "bpref": 1.0,
            "judged@2": 1.0,
        }
    )
    check_numbers("judged_by_people", run_numbers(folder))


def test_a_spreadsheet_s_file_comes_back_and_runs_no_formula(run, cli):
    assert cli("pool", run, "-o", "pool.csv").status == 0
    with open("pool.csv", encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    texts = [line["text"] for line in lines if line["doc"] == "tides.md"]
    for line in lines:
        line["grade"] = "1" if line["doc"] == "tides.md" else ""
    with open("pool.csv", "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    said = imported(cli, "pool.csv")

    assert texts == [f"'={COMMAND}."] * 2
    assert said.status == 0, said.err
    assert documents("testset-judged.jsonl")["q1"] == {"moon.md": 1, "tides.md": 1}


def test_two_people_who_disagree_are_an_error_or_one_side_is_taken(run, cli):
    pool = pooled(cli, run)
    same = {("q1", "mars.md"): 0}
    one = graded("one.jsonl", pool, same | {("q1", "tides.md"): 0})
    two = graded("two.jsonl", pool, same | {("q1", "tides.md"): 2})
    apart = imported(cli, one, two)
    lowest = imported(cli, one, two, options=["-o", "low.jsonl", "--disagreements", "lowest"])
    highest = imported(cli, one, two, options=["-o", "high.jsonl", "--disagreements", "highest"])

    assert apart.status == 2
    assert "one.jsonl" in apart.err
    assert "two.jsonl" in apart.err
    assert "50\u00a0%" in apart.err
    assert (lowest.status, highest.status) == (0, 0)
    assert documents("low.jsonl")["q1"] == {"moon.md": 1, "mars.md": 0, "tides.md": 0}
    assert documents("high.jsonl")["q1"] == {"moon.md": 1, "mars.md": 0, "tides.md": 2}


def test_all_that_is_wrong_with_a_pool_is_said_at_once_and_nothing_is_written(run, cli):
    pool = pooled(cli, run)
    pool[0]["grade"] = 1.5
    pool[1]["question"] = "Another?"
    pool[1]["grade"] = 1
    pool[2]["doc"] = "nowhere.md"
    pool[2]["grade"] = 1
    Path("pool.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in pool), "utf-8")
    said = imported(cli, "pool.jsonl", options=["--corpus", "corpus"])

    assert said.status == 2
    for line in (1, 2, 3):
        assert f"line {line}" in said.err
    assert not Path("testset-judged.jsonl").exists()


def test_a_judgement_that_is_there_is_never_overwritten(run, cli):
    pool = pooled(cli, run)
    name = graded("pool.jsonl", pool, {("q1", "tides.md"): 1})
    assert imported(cli, name).status == 0
    name = graded("other.jsonl", pool, {("q1", "tides.md"): 0})
    said = cli("import", "labels", name, "--testset", "testset-judged.jsonl", "-o", "new.jsonl")

    assert said.status == 2
    assert "tides.md" in said.err
    assert not Path("new.jsonl").exists()
