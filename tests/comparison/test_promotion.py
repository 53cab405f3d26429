"""Baselines: what is promoted, what the file holds, and that damaged files are refused."""

import json
import re
import subprocess
from dataclasses import replace

import pytest

from harness.comparison import operand
from harness.comparison.baselines import baseline_reader, promotion
from harness.comparison.compare_runs import compare_operands
from harness.comparison.operand import Incomparable
from harness.errors import DataError, HarnessError
from harness.records import Score
from harness.report import baselines, terminal
from harness.store.cell_results import ReusedLine
from tests.support.compared import run, side, written

HIT = "hit_rate@5"
SCORES = {"A": {HIT: [1.0, 0.0, 1.0], "ndcg@10": [1 / 3, 0.0, 2 / 3]}, "B": {HIT: [1.0] * 3}}
SCORES["B"]["ndcg@10"] = [0.5] * 3


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def made(tmp_path):
    """Return a run's folder."""
    return written(run(SCORES, "r1", categories=["fact", "rule"]), tmp_path / "reports" / "r1")


@pytest.fixture
def file(made):
    """Return a baseline's file."""
    return promotion.promote([made], "main", why="the first").path


def test_who_is_the_name_that_git_knows(made, tmp_path, monkeypatch):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(["git", "config", "user.name", "Zoë <b>"], check=True, cwd=tmp_path)

    assert promotion.promote([made], "main").held.by == "Zoë <b>"


def test_the_file_has_one_line_a_metric_and_cell_with_values_of_six_digits(file):
    lines = [line.strip() for line in file.read_text("utf-8").splitlines()]
    of_ndcg = [line for line in lines if line.startswith('"ndcg@10": {"mean"')]

    assert len(of_ndcg) == 2
    assert of_ndcg[0].endswith('"values": [0.333333, 0, 0.666667]},') or of_ndcg[0].endswith(
        '"values": [0.333333, 0, 0.666667]}'
    )
    asked = operand.operand_from_run(run(SCORES, categories=["fact"])).questions["q0"].content
    assert f'"q0": {{"content": "{asked}", "category": "fact"}},' in lines


def test_a_side_made_of_the_file_is_the_run_without_its_texts(made, file):
    side, whole = baseline_reader.read("main").operand, operand.read(made)

    assert side.id == "baseline main"
    assert side.stored is None
    assert side.questions == whole.questions
    assert side.provenance == whole.provenance
    assert {name: cell.parts for name, cell in side.cells.items()} == {
        name: cell.parts for name, cell in whole.cells.items()
    }
    assert side.cells["A"].columns["ndcg@10"].values[0] == 0.333333


def test_states_failures_counts_seconds_and_tokens_survive(tmp_path):
    scores = {"A": {"decline_recall": [[1.0, 2.0], [0.5, 1.0]], HIT: [None, 1.0]}}
    about = {"decline_recall": {"kind": "whole set"}}
    made = run(scores, metrics=about, seconds={"A": 0.123456}, tokens={"A": 12})
    folder = written(made, tmp_path / "r")

    promotion.promote([folder], "main", force=True)
    cell = baseline_reader.read("main").operand.cells["A"]

    assert cell.columns[HIT].scores()[0] == Score(None, state="failed")
    assert cell.columns["decline_recall"].scores()[0].counts == (1.0, 2.0)
    assert cell.failed.tolist() == [True, False]
    assert (cell.spent["seconds"][1], cell.spent["tokens"][1]) == (0.123, 12)


def several(tmp_path, *scores, **about):
    """Return the folders of runs with these scores in one cell, a day after the other."""
    return [
        written(
            replace(made, run=replace(made.run, started=f"2026-11-{day:02}")), tmp_path / f"s{day}"
        )
        for day, by_metric in enumerate(scores, start=1)
        for made in [run({"A": by_metric}, f"s{day}", **about)]
    ]


def test_of_several_runs_each_questions_means_are_the_baseline(tmp_path):
    scores = [{HIT: [1.0, 0.0, 1.0]}, {HIT: [1.0, 0.0, 0.0]}, {HIT: [1.0, 1.0, 0.0]}]
    folders = several(tmp_path, *scores)

    held = promotion.promote([folders[2], folders[0], folders[1]], "main").held
    (cell,) = held.cells

    assert [run.id for run in held.runs] == ["s1", "s2", "s3"]
    assert cell.scores[HIT].values == [1, 0.333333, 0.333333]
    assert (cell.scores[HIT].mean, cell.scores[HIT].n) == (pytest.approx(5 / 9, abs=1e-6), 3)
    assert baseline_reader.read("main").operand.started == "2026-11-03"


def test_several_runs_that_reused_replies_are_named(tmp_path):
    first, second = several(tmp_path, {HIT: [1.0, 0.0]}, {HIT: [1.0, 0.0]})
    made = run({"A": {HIT: [1.0, 0.0]}}, "s3")
    reused = ReusedLine(n=2, oldest="2026-11-01T02:03:04+00:00")
    cells = tuple(replace(cell, reused=reused) for cell in made.run.cells)
    third = written(replace(made, run=replace(made.run, cells=cells)), tmp_path / "s3")

    found = promotion.promote([first, second, third], "main")

    said = "s3: earlier replies reused: 2, the oldest of 2026-11-01 02:03 UTC"
    assert found.reused == (said,)
    assert said in terminal.render(baselines.promotion_blocks(found))
    assert promotion.promote([first, second], "main").reused == ()
    assert promotion.promote([third], "main").reused == ()


def test_counts_seconds_and_tokens_of_several_runs_are_means_and_failures_those_of_all(tmp_path):
    about = {"metrics": {"decline_recall": {"kind": "whole set"}}}
    made = [
        run(
            {"A": {"decline_recall": [[1.0, 2.0], [hits, 1.0]], HIT: [None, first]}},
            f"f{number}", seconds={"A": seconds}, tokens={"A": tokens}, **about,
        )
        for number, (hits, first, seconds, tokens) in enumerate(
            [(0.0, 1.0, 0.1, 10), (1.0, None, 0.3, 13)]
        )
    ]  # fmt: skip
    folders = [written(one, tmp_path / one.run.id) for one in made]

    (cell,) = promotion.promote(folders, "main", force=True).held.cells

    assert cell.scores["decline_recall"].values == [[1, 2], [0.5, 1]]
    assert cell.scores["decline_recall"].mean == pytest.approx(0.5)
    assert cell.scores[HIT].values == ["failed", 1]
    assert (list(cell.failures), cell.asked, cell.failed) == (["q0"], 2, 1)
    assert (cell.seconds, cell.tokens) == ([0.2, 0.2], [12, 12])


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"about": {"corpus": {"hash": "d"}}}, "the corpus is another"),
        ({"about": {"testset": {"hash": "u"}}}, "the test set is another"),
        ({"metrics": {HIT: {"kind": "cost"}}}, "metric hit_rate@5: kind quality, now kind cost"),
        ({}, "it is the same run"),
    ],
)
def test_runs_that_make_no_baseline_together_are_refused_in_a_sentence(tmp_path, other, reason):
    scores = {"A": {HIT: [1.0, 0.0, 1.0]}}
    first = written(run(scores, "s1"), tmp_path / "s1")
    second = written(run(scores, "s2" if other else "s1", **other), tmp_path / "s2")

    with pytest.raises(Incomparable) as refused:
        promotion.promote([first, second], "main")

    assert f"make no baseline together: {reason}" in str(refused.value)
    assert str(refused.value).count("\n") == 1
    assert not (tmp_path / "baselines").exists()


@pytest.mark.parametrize(
    ("second", "odd"),
    [({"B": {HIT: [1.0]}}, "cell 'A'"), ({"A": {"ndcg@10": [1.0]}}, f"metric '{HIT}'")],
)
def test_runs_of_other_cells_or_metrics_make_no_baseline_together(tmp_path, second, odd):
    first = written(run({"A": {HIT: [1.0]}}, "s1"), tmp_path / "s1")
    other = written(run(second, "s2"), tmp_path / "s2")

    with pytest.raises(Incomparable, match=f"only one of them has the {odd}"):
        promotion.promote([first, other], "main")


def test_a_run_with_failures_is_promoted_only_by_force(tmp_path):
    made = run(SCORES, "r3")
    cells = [replace(each, failed=2, asked=3) for each in made.run.cells[:1]]
    file = replace(made.run, cells=[*cells, made.run.cells[1]])
    folder = written(
        type(made)(made.folder, file, made.records, made.questions, {}), tmp_path / "r"
    )

    with pytest.raises(Incomparable, match="2 of 3 questions failed in A"):
        promotion.promote([folder], "main")

    assert promotion.promote([folder], "main", cell="B").held.forced is False
    assert promotion.promote([folder], "main", force=True).held.forced is True


@pytest.mark.parametrize("kind", ["quality", "descriptive"])
def test_a_metric_of_another_kind_or_with_other_counts_is_refused_not_judged(tmp_path, kind):
    spec = {"pooled": {"kind": "whole set", "spec": "decline_recall"}}
    old = side({"A": {"pooled": [[1.0, 2.0]] * 8}}, "old", metrics=spec)
    wider = side({"A": {"pooled": [[1.0, 2.0, 3.0]] * 8}}, metrics=spec)
    other = side({"A": {"pooled": [0.5] * 8}}, metrics={"pooled": {**spec["pooled"], "kind": kind}})

    with pytest.raises(Incomparable, match=f"metric pooled: kind whole set, now kind {kind}"):
        compare_operands(old, other)
    with pytest.raises(Incomparable, match="metric pooled: 2 counts a question, now 3"):
        compare_operands(old, wider)


def test_a_baseline_that_is_not_there_is_refused_with_those_there_are(file):
    with pytest.raises(HarnessError) as refused:
        baseline_reader.read("mian")

    assert str(refused.value) == (
        "baseline 'mian' is not there: no file 'baselines/mian.json'\n"
        "  did you mean 'main'? choose from: main"
    )


def damaged(change):
    """Return a function that changes the data of a baseline's file."""

    def write(file):
        data = json.loads(file.read_text("utf-8"))
        change(data)
        file.write_text(json.dumps(data), "utf-8")

    return write


def put(*steps):
    *path, last, value = steps

    def change(data):
        for step in path:
            data = data[step]
        data[last] = value

    return damaged(change)


def as_counts(data):
    data["provenance"]["metrics"][HIT]["kind"] = "whole set"
    for cell in data["cells"]:
        cell["scores"][HIT]["values"] = [[each, 1.0] for each in cell["scores"][HIT]["values"]]


SCORED = ("cells", 0, "scores", HIT)


@pytest.mark.parametrize(
    ("damage", "where", "what"),
    [
        (lambda file: file.write_bytes(b"\xff\xfe"), "the file", "is not JSON in UTF-8"),
        (lambda file: file.write_text(file.read_text()[:200]), "the file", "is not JSON in UTF-8"),
        (lambda file: file.write_text("[" * 100_000), "the file", "is not JSON in UTF-8"),
        (lambda file: file.write_text("[]"), "the file", "is no baseline"),
        (lambda file: file.write_text('{"schema": 2}'), "the file", "is no baseline"),
        (put("schema", 3), "schema", "schema 3 is newer than this harness reads"),
        (put("schema", 1), "schema", "schema 1 was written by an earlier version"),
        (put("by", 5), "by", "Input should be a valid string"),
        (put("extra", 5), "extra", "Extra inputs are not permitted"),
        (damaged(lambda data: data.pop("cells")), "cells", "Field required"),
        (put(*SCORED, "values", [1, 0]), f"cells[0].scores.{HIT}", "2 values of 3 questions"),
        (put(*SCORED, "values", 1, 7), f"cells[0].scores.{HIT}", "7.0 is no score between 0 and 1"),
        (put(*SCORED, "values", 1, [1]), f"cells[0].scores.{HIT}", "is no score between 0 and 1"),
        (put(*SCORED, "values", 1, "x"), f"cells[0].scores.{HIT}.values[1]", "Input should be"),
        (put(*SCORED, "values", 1, 1e999), "the file", "is not JSON in UTF-8"),
        (put("cells", 1, "name", "A"), "cells[1]", "two cells have the name 'A'"),
        (put("cells", 0, "scores", {}), "cells[0].scores", "holds other metrics"),
        (
            damaged(lambda data: data["cells"][0]["parts"].pop("chunker")),
            "cells[0].parts.chunker",
            "Field required",
        ),
        (damaged(as_counts), f"provenance.metrics.{HIT}.kind", "'whole set' is not the kind of"),
        (
            put("cells", 0, "failures", {"q9": {"stage": "retrieval", "reason": ""}}),
            "cells[0].failures",
            "'q9' is not among the questions",
        ),
        (put("cells", 0, "seconds", []), "cells[0].seconds", "holds 0 values of 3 questions"),
        (
            put("provenance", "metrics", HIT, "kind", "whole set"),
            f"cells[0].scores.{HIT}",
            "must hold counts",
        ),
    ],
)
def test_a_damaged_file_is_refused_with_place_fact_and_remedy(file, damage, where, what):
    damage(file)

    with pytest.raises(DataError) as refused:
        baseline_reader.read("main")

    assert str(refused.value).startswith("baselines/main.json cannot be read:")
    problem = refused.value.problems[0]
    assert problem.where.startswith(where)
    assert what in problem.what
    assert len(refused.value.problems) <= 10


def test_ls_names_each_baseline_and_says_which_cannot_be_read(file, made):
    promotion.promote([made], "other")
    put("schema", 3)(file)
    there = baseline_reader.read_all()

    shown = terminal.render(baselines.list_blocks(there))

    assert re.search("^main +baselines/main.json cannot be read: schema: schema 3", shown, re.M)
    assert re.search("^other +run r1, promoted 20", shown, re.MULTILINE)
    heads = json.loads(json.dumps(baselines.list_as_data(there)))
    assert [each["name"] for each in heads] == ["main", "other"]
