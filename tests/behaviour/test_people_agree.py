"""What people said is held against each other, against metrics, and against another run."""

import json
import re
from pathlib import Path

import pytest

from tests.behaviour.golden import check_numbers, run_folder
from tests.behaviour.servers import rows, serving

COUNT = 32
GRADES = ("correctness", "directness", "completeness", "helpfulness")
OVERALL = ("poor", "fair", "good", "excellent")
METRICS = ["hit_rate@2", "token_f1", "rouge1", "length_ratio"]
COMPOSITE = "composite(weights=0.5*token_f1 + 0.5*length_ratio)"


def answers(number):
    """Return the answer and its grade: right, half right and wrong in turn."""
    right = f"{number + 100} red chairs"
    return ((right, 3), ("some chairs", 1), ("nobody sat there", 0))[number % 3]


@pytest.fixture
def halls(project):
    """Return a project of 32 halls, and a chat server that answers as `answers` says."""
    lines = []
    for number in range(COUNT):
        project.document(f"h{number}.md", f"Hall {number} holds {number + 100} red chairs.\n")
        lines.append(
            {
                "id": f"h{number:02}",
                "question": f"How many chairs has hall {number}?",
                "answers": [f"{number + 100} red chairs"],
                "documents": {f"h{number}.md": 1},
            }
        )
    project.testset(*lines)

    def says(prompt):
        return answers(int(re.search(r"has hall (\d+)\?", prompt)[1]))[0]

    with serving(says) as chat:
        project.config(chat=chat.settings("writer"), generators=["chat"], labels="documents")
        project.config(retrievers=["bm25"], metrics=[*METRICS, COMPOSITE], decide_by="token_f1")
        yield chat


def rated(cli, grade):
    """Run, and have two people rate all answers; `grade` has the grade of a rater and a number."""
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    run = run_folder(Path.cwd())
    said = cli("rate", run, "--n", COUNT, "--raters", "2", "--shared", "1")
    assert said.status == 0, said.err
    (path,) = (run / "forms").glob("*.json")
    key = json.loads(path.read_text("utf-8"))
    for rater in (1, 2):
        items = []
        for item in key["items"]:
            number = int(item["question"][1:])
            given = grade(rater, number)
            chunks = [3 if span["doc"] == f"h{number}.md" else 0 for span in item["chunks"]]
            common = {
                "item": item["item"],
                "chunks": chunks,
                "comment": "",
                **dict.fromkeys(GRADES),
            }
            items.append({**common, "correctness": given, "overall": OVERALL[given]})
        data = {"harness_ratings": 1, "form": key["id"], "rater": rater, "name": ""}
        data |= {"saved": "2025-11-21T10:00:00.000Z", "items": items}
        Path(f"rater{rater}.json").write_text(json.dumps(data), "utf-8")
    said = cli("import", "ratings", "rater1.json", "rater2.json", "--run", run)
    assert said.status == 0, said.err
    return run


def section(run):
    text = (run / "report.md").read_text("utf-8")
    return text.partition("## What people said")[2].partition("\n## ")[0]


def row(text, name):
    """Return the cells of the row of a table that begins with a name."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_report_says_how_far_people_agree_and_which_metric_agrees_with_them(halls, cli):
    # The second rater is kinder to one answer, which both rated.
    run = rated(cli, lambda rater, number: answers(number)[1] + (rater == 2 and number == 1))
    text = section(run)

    # Means: 11 of 3, 11 of 1 and 10 of 0; and half a grade more for one.
    assert row(text, "sentence × bm25 × chat")[2].startswith("1.39 ")
    assert pytest.approx(1.39, abs=5e-3) == (11 * 3 + 11 * 1 + 0.5) / 32
    assert f"2 people rated {COUNT} answers to {COUNT} questions" in text
    # Squared disagreements: 1 of 32, where chance would give many more.
    assert row(text, "Overall")[1].startswith("+0.99 (")
    assert "almost perfect" in row(text, "Overall")[1]
    assert row(text, "Chunks")[1].startswith("+1.00 (the same in every resample; n = 64)")
    assert "the metric does not vary" in row(text, r"hit\_rate@2")[1]
    assert 'composite: {weights: "0.43*token_f1 + 0.43*rouge1 + 0.14*length_ratio"}' in text
    # Items lie in an order of chance, on which the ends of intervals depend a little.
    names = ["Overall", "Correctness", *(name.replace("_", r"\_") for name in METRICS[1:])]
    check_numbers("people", {name: [*map(point, row(text, name)[1:])] for name in names})


def point(cell):
    """Return the figure at the start of a cell; None where there is none."""
    match = re.match(r"[+−]\d\.\d\d", cell)
    return match and float(match[0].replace("−", "-"))


def test_compare_says_where_metrics_and_people_part(halls, cli):
    before = rated(cli, lambda rater, number: 3)
    halls.says = lambda prompt: (
        f"{int(re.search(r'has hall ([0-9]+)', prompt)[1]) + 100} red chairs"
    )
    Path("config.yaml").write_text(
        Path("config.yaml").read_text("utf-8").replace("openai:writer", "openai:better"), "utf-8"
    )
    after = rated(cli, lambda rater, number: 1)
    said = cli("compare", before, after)

    assert said.status == 0, said.err
    values = [
        [record["scores"]["token_f1"]["value"] for record in rows(run / "records.jsonl")]
        for run in (before, after)
    ]
    assert sum(values[0]) < sum(values[1]) == COUNT
    # The metric rose on 21 of 32 questions, and people's grades fell on all.
    text = " ".join(said.out.split())
    assert "By token_f1: 0 questions lost, 21 questions won" in text
    assert "people’s ratings fell (mean overall grade, 0 to 3: difference −2.00," in text
