"""`rate` writes a form that names no cell, and `import ratings` adds what people said to a run."""

import json
from pathlib import Path

import pytest

from tests.behaviour.golden import run_folder
from tests.behaviour.servers import rows

GRADES = ("correctness", "directness", "completeness", "helpfulness")
OVERALL = ("poor", "fair", "good", "excellent")
GOLD = "about thirty Earths in a row"
"""A reference that stands in no document."""


@pytest.fixture
def run(project, cli):
    """Return the folder of a run of two cells, and of three questions."""
    lines = rows(Path("testset.jsonl"))
    lines[0]["answers"].append(GOLD)
    project.testset(*lines)
    project.config(retrievers=["bm25", "dense"], index={"exact": True}, context={"chunks": 1})
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    return run_folder(project.folder)


def form(cli, run, *options):
    """Write a form; return its page and its key."""
    said = cli("rate", run, "-o", "form.html", "--force", *options)
    assert said.status == 0, said.err
    key = max((run / "forms").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    return Path("form.html").read_text("utf-8"), json.loads(key.read_text("utf-8"))


def saved(key, rater=1, grade=2, name="", at="2025-11-21T10:00:00.000Z", **changes):
    """Write what one person saved of all items given to them; return the file's name."""
    items = [
        {
            "item": item["item"],
            "chunks": [grade] * len(item["chunks"]),
            **dict.fromkeys(GRADES, grade),
            "overall": OVERALL[grade],
            "comment": "",
            **changes,
        }
        for item in key["items"]
        if rater in item["raters"]
    ]
    path = Path(f"ratings-{rater}-{grade}.json")
    data = {"harness_ratings": 1, "form": key["id"], "rater": rater, "name": name, "saved": at}
    path.write_text(json.dumps({**data, "items": items}), "utf-8")
    return path


def people(run):
    """Return what the report says of people."""
    text = (run / "report.md").read_text("utf-8")
    return text.partition("## What people said")[2].partition("\n## ")[0]


def test_a_form_shows_no_cell_no_score_and_no_gold_answer(run, cli):
    page, key = form(cli, run)
    cells = [cell["name"] for cell in json.loads((run / "run.json").read_text("utf-8"))["cells"]]

    assert "How far away is the Moon?" in page
    assert "moon.md" in page
    for hidden in (*cells, "bm25", "token_f1", GOLD):
        assert hidden not in page
    # Both cells read the same of q1, so that they share its item; no item has one answer twice.
    shared = [item["question"] for item in key["items"] if len(item["cells"]) == 2]
    assert "q1" in shared
    assert {cell for item in key["items"] for cell in item["cells"]} == set(cells)


def test_the_seed_decides_the_form(run, cli):
    forms = [form(cli, run, "--seed", seed)[1] for seed in (3, 3, 4)]

    assert forms[0]["items"] == forms[1]["items"]
    assert forms[0]["items"] != forms[2]["items"]


def test_raters_share_the_items_that_shared_says(run, cli):
    _, all_shared = form(cli, run, "--raters", "2", "--shared", "1")
    _, none_shared = form(cli, run, "--raters", "2", "--shared", "0")
    _, alone = form(cli, run)

    assert {tuple(item["raters"]) for item in all_shared["items"]} == {(1, 2)}
    assert {len(item["raters"]) for item in none_shared["items"]} == {1}
    assert {rater for item in none_shared["items"] for rater in item["raters"]} == {1, 2}
    assert {tuple(item["raters"]) for item in alone["items"]} == {(1,)}


def test_cell_and_n_narrow_a_form(run, cli):
    (cell,) = [
        cell["name"]
        for cell in json.loads((run / "run.json").read_text("utf-8"))["cells"]
        if "bm25" in cell["name"]
    ]
    _, key = form(cli, run, "--cell", cell, "--n", "2")
    wrong = cli("rate", run, "--cell", "none such", "-o", "other.html")

    assert len(key["items"]) == 2
    assert {tuple(item["cells"]) for item in key["items"]} == {(cell,)}
    assert wrong.status == 2
    assert "none such" in wrong.err


def test_ratings_are_added_to_the_run_and_its_report_and_checksums(run, cli):
    _, key = form(cli, run, "--raters", "2", "--shared", "1")
    before = people(run)
    said = cli("import", "ratings", saved(key, 1, 2), saved(key, 2, 3), "--run", run)
    lines = rows(run / "ratings.jsonl")

    assert before == ""
    assert said.status == 0, said.err
    assert len(lines) == 2 * len(key["items"])
    assert {(line["rater"], line["overall"]) for line in lines} == {
        ("1", "good"),
        ("2", "excellent"),
    }
    assert "2 people rated" in people(run)
    assert "2.50" in people(run)  # of 2 and 3, everywhere
    # The run is whole: what reads it with its checksums takes it.
    assert cli("report", run).status == 0


def test_what_a_rater_saved_later_replaces_and_null_is_never_0(run, cli):
    _, key = form(cli, run)
    old = saved(key, 1, 0)
    new = saved(key, 1, 3, at="2025-11-22T10:00:00.000Z", helpfulness=None)
    cli("import", "ratings", new, "--run", run)
    again = cli("import", "ratings", old, "--run", run)
    lines = rows(run / "ratings.jsonl")

    assert again.status == 0, again.err
    assert {line["overall"] for line in lines} == {"excellent"}
    assert all("helpfulness" not in line for line in lines)
    assert "left out" in again.out


def test_scoring_again_keeps_what_people_said(run, cli):
    _, key = form(cli, run)
    cli("import", "ratings", saved(key), "--run", run)
    before = rows(run / "ratings.jsonl")
    said = cli("score", run, "-m", "exact_match")

    assert said.status == 0, said.err
    assert rows(run / "ratings.jsonl") == before
    assert "1 person rated" in people(run)


def test_all_that_is_wrong_is_said_at_once_and_the_run_stays_as_it_is(run, cli):
    _, key = form(cli, run)
    good = saved(key, 1, 1)
    bad = saved(key, 1, 2, correctness=4)
    other = saved({**key, "id": "0123456789"}, 1, 3)
    before = {path.name: path.read_bytes() for path in run.glob("*.*")}
    said = cli("import", "ratings", good, bad, other, "--run", run)

    assert said.status == 2
    assert str(bad) in said.err
    assert str(other) in said.err
    assert {path.name: path.read_bytes() for path in run.glob("*.*")} == before


THUMBS = [
    {"question": "q1", "thumb": "up", "user": "ann", "time": "2026-01-30T12:00:00Z"},
    {"question": "q1", "thumb": "down", "user": "ann", "time": "2026-01-31T12:00:00Z"},
    {"question": "which  MOONS does mars have?", "thumb": 1, "user": "bob"},
    {"question": "q2", "thumb": False, "user": "cid"},
    {"question": "Who is Yorick?", "thumb": True},
]


def thumbs(*lines):
    Path("thumbs.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return "thumbs.jsonl"


@pytest.fixture
def lone(project, cli):
    """Return the folder of a run of one cell."""
    project.config(retrievers=["bm25"])
    assert cli("run", "config.yaml").status == 0
    return run_folder(project.folder)


def test_thumbs_from_production_are_matched_counted_and_never_twice(lone, cli):
    first = cli("import", "ratings", thumbs(*THUMBS), "--run", lone)
    lines = rows(lone / "ratings.jsonl")
    again = cli("import", "ratings", thumbs(*THUMBS), "--run", lone)

    assert first.status == 0, first.err
    assert "4 thumbs, 2 up" in first.out
    assert "Who is Yorick?" in first.out
    assert sorted((line["question"], line["thumb"]) for line in lines) == [
        ("q1", False),
        ("q1", True),
        ("q2", False),
        ("q2", True),
    ]
    # Of a user a hash is kept; the latest of ann's two counts, so one of three is up.
    assert not {"ann", "bob", "cid"} & {line["rater"] for line in lines}
    assert "3 thumbs came in, 1 of them up" in people(lone)
    assert again.status == 0, again.err
    assert rows(lone / "ratings.jsonl") == lines


def test_thumbs_of_a_table_say_the_same(lone, cli):
    Path("thumbs.csv").write_text("Thumb;Question;page\nup;q1;7\n-1;Who wrote Hamlet?;8\n", "utf-8")
    said = cli("import", "ratings", "thumbs.csv", "--run", lone)

    assert said.status == 0, said.err
    assert [(line["question"], line["thumb"]) for line in rows(lone / "ratings.jsonl")] == [
        ("q1", True),
        ("q3", False),
    ]


def test_thumbs_of_a_run_of_several_cells_need_a_cell(run, cli):
    name = thumbs({"question": "q1", "thumb": "up"})
    cells = [cell["name"] for cell in json.loads((run / "run.json").read_text("utf-8"))["cells"]]
    none = cli("import", "ratings", name, "--run", run)
    said = cli("import", "ratings", name, "--run", run, "--cell", cells[1])

    assert none.status == 2
    assert "--cell" in none.err
    assert said.status == 0, said.err
    (line,) = rows(run / "ratings.jsonl")
    assert line["cells"] == [cells[1]]
