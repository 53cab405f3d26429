"""Tables of the report: segments, curves over k, the Pareto front, spread, and its bound."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.behaviour import stations
from tests.behaviour.golden import run_folder
from tests.behaviour.servers import serving

APP = """
import time

PLACES = {places}

def ranked(number, place):
    order = [(number + step) % 12 for step in (1, 2, 3)]
    if place:
        order.insert(place - 1, number)
    return [{{"id": f"{{n}}.md", "text": f"Station {{n}} has {{n + 30}} docks of its own."}}
            for n in order[:3]]

def answered(question, places, seconds):
    time.sleep(seconds)
    number = int(question.split("station ")[1].split("?")[0])
    return ranked(number, places[number]), f"{{number + 30}} docks"

def middle(question):
    return answered(question, PLACES, 0.02)

def quick(question):
    return answered(question, [0] * 12, 0)

def slow(question):
    return answered(question, [0] + PLACES[1:], 0.04)
"""
"""Three systems: `slow` takes longer than `middle`, and is right less often; `quick` never is."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("shown")


@pytest.fixture
def report(place, cli, monkeypatch):
    """Return report.md of the three systems, the same run for all tests."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "path", sys.path[:])
    if not (place / "reports").exists():
        stations.write(place)
        rows = stations.lines(Path("testset.jsonl"))
        for number, row in enumerate(rows):
            # Six words, then 14 and 22.
            row["question"] += " Tell me, as I would like to know." * (number // 4)
            row["documents"] |= {"0.md": 1} if number == 5 else {}
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        Path("testset.jsonl").write_text(text, "utf-8")
        Path("three_apps_4711.py").write_text(APP.format(places=stations.WORSE), "utf-8")
        systems = [
            {"python": {"function": f"three_apps_4711:{name}", "label": name}}
            for name in ("middle", "quick", "slow")
        ]
        stations.Stations(place, cli).run(system=systems, metrics=["hit_rate@1", "recall@3"])
    return (run_folder(place) / "report.md").read_text("utf-8")


def section(text, title):
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def table(text, title):
    """Return the cells of a table's rows by their first; `title` stands above it in bold."""
    lines = text.partition(f"\n**{title}**")[2].partition("|\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in rows if len(row) > 1}


def test_segments_are_by_category_difficulty_document_and_length(report):
    told = section(report, "By segment")
    rows = table(told, "Mean by segment, middle")
    documents = table(told, "Mean by document, middle")
    names = list(rows)
    rows |= documents
    values = {name.removesuffix(" †"): (row[0], row[2]) for name, row in rows.items()}

    assert [name for name in names if name.startswith("**")] == [
        "**Category**", "**Difficulty**", "**Question length**", "**All**",
    ]  # fmt: skip
    assert "<summary>By document: 12 of 12</summary>" in told
    # The first four of twelve questions are right, and those of q0 to q3 are the easy ones.
    expected = {
        "even": ("6", "0.33"),
        "odd": ("6", "0.33"),
        "easy": ("4", "1.00"),
        "hard": ("8", "0.00"),
        "0.md": ("2", "0.50"),  # it is relevant to q0 and q5
        "3.md": ("1", "1.00"),
        "up to 10 words": ("4", "1.00"),
        "11 to 20 words": ("4", "0.00"),
        "over 20 words": ("4", "0.00"),
        "all questions": ("12", "0.33"),
    }
    assert {name: values[name] for name in expected} == expected


def test_curves_have_the_mean_at_every_k(report):
    rows = table(section(report, "Curves and trade-offs"), "recall@k, mean")

    # At 1, 2 and 3: 4, 7 and 9 of twelve, but that q5, at 2, has one of its two documents alone.
    assert rows["middle"][:3] == ["0.333", "0.542", "0.708"]
    assert rows["quick"][:3] == ["0.000", "0.000", "0.000"]
    assert rows["slow"][:3] == ["0.250", "0.458", "0.625"]


def test_the_pareto_front_has_what_no_other_beats_in_score_and_time(report):
    told = section(report, "Curves and trade-offs")
    rows = table(told, r"hit\_rate@1 and latency")

    assert {name: row[2] for name, row in rows.items() if name in ("middle", "quick", "slow")} == {
        "middle": "yes",
        "quick": "yes",
        "slow": "no",
    }
    assert "The line is the Pareto front" in told
    assert "2 configurations of 3 are worth their latency" in told


def test_charts_are_drawn_in_the_page_itself(report, place):
    page = (run_folder(place) / "report.html").read_text("utf-8")

    assert "The line is the Pareto front" in page
    assert page.count("<svg") >= 5


@pytest.fixture
def asked(project):
    """Return a chat server that answers the small project's questions."""
    with serving(lambda prompt: "I don't know.") as chat:
        project.config(chat=chat.settings("writer"), generators=["chat"])
        yield chat


def test_the_spread_of_repeated_answers_is_their_standard_deviation(project, asked, cli):
    turns = {7: "384,400 km", 8: "far away", 9: "384,400 km"}
    asked.says = lambda prompt: (
        turns[asked.requests[-1]["seed"]] if "How far" in prompt else "I don't know."
    )
    project.config(generators=[{"chat": {"repeat": 3, "temperature": 0.7, "concurrent": 1}}])
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    text = (run_folder(project.folder) / "report.md").read_text("utf-8")
    rows = table(section(text, "Spread across samples"), "Standard deviation between samples")

    # Of 1, 0 and 1 it is the root of a third, and of the other question's three zeros 0.
    assert rows[r"token\_f1"] == [f"{(1 / 3) ** 0.5 / 2:.3f} (n = 2)"]


def test_texts_that_would_make_the_page_too_large_are_left_out_with_a_note(project, asked, cli):
    questions = [f"How far away is the Moon, {number}?" for number in range(26)]
    project.testset(*({"question": text, "answers": ["384,400 km"]} for text in questions))
    Path("long.txt").write_text("x" * 1_000_000 + "{context}{question}", "utf-8")
    project.config(generators=[{"chat": {"prompt": "long.txt"}}], metrics=["token_f1"])
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    folder = run_folder(project.folder)
    page = (folder / "report.html").read_text("utf-8")

    # 26 prompts of a million characters are more than there is room for.
    assert (folder / "records.jsonl").stat().st_size > 26_000_000
    assert len(page) < 25_000_000
    assert re.search(r'"left_out":\s*\["prompts"\]', page)


def test_questions_of_one_document_count_as_a_cluster_where_that_is_asked_for(
    tmp_path, cli, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    stations.write(tmp_path)
    rows = stations.lines(Path("testset.jsonl"))
    # q0 and q1 speak of one document, and so do q2 and q3, up to q11.
    for number, row in enumerate(rows):
        row["documents"] = {f"{number // 2 * 2}.md": 1}
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    Path("testset.jsonl").write_text(text, "utf-8")
    made = stations.Stations(tmp_path, cli)
    made.config()
    ranked = [f"{number // 2 * 2}.md" if number < 6 else "1.md" for number in range(12)]
    lines = [f"q{number} Q0 {document} 1 1 app\n" for number, document in enumerate(ranked)]
    Path("app.run").write_text("".join(lines), "utf-8")
    scores = []
    for clusters in ("false", "true"):
        said = cli("run", "config.yaml", "--set", f"clusters={clusters}", "--json")
        run = json.loads((Path(json.loads(said.out)["run"]) / "run.json").read_text("utf-8"))
        scores.append(run["cells"][0]["scores"]["hit_rate@1"])
    alone, together = scores

    assert (alone["mean"], alone["n"]) == (together["mean"], together["n"]) == (0.5, 12)
    # Twelve questions, of which each is as its neighbour, tell as much as six.
    assert together["high"] - together["low"] > 1.2 * (alone["high"] - alone["low"])
