"""People's labels of a run's items: corrected means and differences, in run.json and the report."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from harness import corrected_mean
from harness.people.rating_forms import systematic_sample
from harness.store import reader
from tests.support.judge_server import part, sitting

QUESTIONS = 60


def judge_grade(number):
    """Return what the judge grades the answer to a question, 0 to 3."""
    return (number * 7) % 4


def people_grade(number):
    """Return what people say: often the judge's grade, else one less."""
    return max(0, judge_grade(number) - (number % 3 == 0))


def graded(prompt):
    number = int(re.search(r"\d+", part(prompt, "Question"))[0])
    return f"{judge_grade(number)}\nSo."


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with sitting(graded) as made:
        yield made


@pytest.fixture
def judged(project, bench):
    """Return a project of 60 questions whose answers a judge grades."""
    project.testset(
        *(
            {
                "id": f"q{n}",
                "question": f"{n}: How far away is the Moon?",
                "answers": ["384,400 km"],
            }
            for n in range(QUESTIONS)
        )
    )
    project.config(judge=bench.settings(), metrics=["token_f1", "correctness"])
    return project


def ran(cli, *options):
    said = cli("run", "config.yaml", "--json", *options)
    assert said.status == 0, said.err
    return reader.load(Path(json.loads(said.out)["run"]))


def rows(stored, numbers, cell=None):
    """Return labels of the answers to some questions."""
    cell = cell or stored.run.cells[0].name
    return [
        {
            "item": f"q{n}",
            "cell": cell,
            "label": people_grade(n),
            "sha256": hashlib.sha256(stored.record(cell, f"q{n}").answer.encode()).hexdigest(),
        }
        for n in numbers
    ]


def write(rows):
    Path("people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def with_labels(project, rows, **more):
    write(rows)
    project.config(people={"labels": "people.jsonl", **more})


DRAWN = list(range(0, QUESTIONS, 2))  # 30 of them


def expected(numbers):
    others = [n for n in range(QUESTIONS) if n not in numbers]
    return corrected_mean(
        [people_grade(n) / 3 for n in numbers],
        [judge_grade(n) / 3 for n in numbers],
        [judge_grade(n) / 3 for n in others],
    )


def test_the_corrected_mean_stands_in_run_json_and_in_the_report(judged, cli):
    first = ran(cli)
    with_labels(judged, rows(first, DRAWN), drawn="random")
    stored = ran(cli)
    (cell,) = stored.run.corrected["correctness"].cells

    assert cell.mean == expected(DRAWN)
    assert len((stored.folder / "labels.jsonl").read_text("utf-8").splitlines()) == 30
    text = (stored.folder / "report.md").read_text("utf-8")
    assert "correctness, corrected by people's labels" in text
    assert f"{cell.mean.corrected.value:.3f}" in text
    # Without a card beside the configuration, the labels make one.
    assert stored.run.judges["correctness"].card.card.n == 30


def test_scoring_again_keeps_the_labels(judged, cli):
    with_labels(judged, rows(ran(cli), DRAWN), drawn="random")
    before = ran(cli)
    said = cli("score", str(before.folder))
    after = reader.load(before.folder)

    assert said.status == 0, said.err
    assert after.run.corrected == before.run.corrected


def test_differences_are_paired_by_question(judged, cli):
    judged.config(retrievers=["dense", "bm25"], baseline={"retriever": "dense"})
    first = ran(cli)
    one, other = (cell.name for cell in first.run.cells)
    labels = [*rows(first, DRAWN, one), *rows(first, DRAWN, other)]
    for row in labels[30:40]:
        row["label"] = 3  # what the judge does not see
    with_labels(judged, labels, drawn="random")
    (difference,) = ran(cli).run.corrected["correctness"].differences
    y = np.array([row["label"] for row in labels]) / 3

    assert difference.difference.people.value == pytest.approx((y[30:] - y[:30]).mean())
    assert difference.difference.corrected.n == 30
    assert difference.difference.unlabelled == 30


@pytest.mark.parametrize(
    ("numbers", "more", "note"),
    [
        (DRAWN, {}, "nothing says how the labelled items were drawn: `people: {drawn: random}`"),
        (DRAWN[:19], {"drawn": "random"}, "19 labelled items in a cell: from 20 on it is shown"),
    ],
)
def test_what_cannot_be_corrected_has_a_card_and_the_reason(judged, cli, numbers, more, note):
    with_labels(judged, rows(ran(cli), numbers), **more)
    stored = ran(cli)

    assert stored.run.corrected["correctness"].cells == ()
    assert stored.run.corrected["correctness"].note == note
    assert "**Not corrected.**" in (stored.folder / "report.md").read_text("utf-8")
    assert stored.run.judges["correctness"].card.card.n == len(numbers)


def test_all_items_labelled_is_people_alone(judged, cli):
    with_labels(judged, rows(ran(cli), range(QUESTIONS)), drawn="all")
    (cell,) = ran(cli).run.corrected["correctness"].cells

    assert (cell.mean.weight, cell.mean.unlabelled) == (0, 0)
    assert cell.mean.corrected == cell.mean.people


def test_labels_of_other_items_and_other_texts_are_left_out_and_named(judged, cli):
    labels = rows(ran(cli), range(25))
    labels[3]["sha256"] = "0" * 64
    labels[4]["item"] = "q999"
    with_labels(judged, labels, drawn="random")
    stored = ran(cli)

    assert stored.run.corrected["correctness"].labels == 23
    assert "people.jsonl: 1 label not in this run, left out: q999" in stored.run.warnings
    assert "people.jsonl: 1 label of a text that changed, left out: q3" in stored.run.warnings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": 4}, "item 'q0' has label 4, and labels for correctness are grades from 0 to 3"),
        ({"label": 0.5}, "item 'q0' has label 0.5, and labels for correctness are grades"),
        ({"sha256": ""}, "item 'q0' does not say which text was labelled"),
        ({"metric": "fluency"}, "item 'q0' is a label for 'fluency', which asks no judge here"),
        ({"drawn": "the hard ones"}, "drawn: String should match pattern"),
    ],
)
def test_what_is_wrong_with_the_file_is_said_before_anything_is_asked(
    judged, bench, cli, change, message
):
    row = {"item": "q0", "label": 1, "sha256": "ab"}
    with_labels(judged, [{**row, **change}])
    said = cli("validate", "config.yaml")

    assert said.status == 2
    assert message in said.err
    assert "people.jsonl, line 1" in said.err
    assert bench.asked == []


def test_a_file_that_is_not_there_is_named_with_its_key(judged, cli):
    judged.config(people={"labels": "nobody.jsonl"})

    assert "nobody.jsonl" in cli("validate", "config.yaml").err


def write_card(judged, cli, right):
    """Keep a card of the judge, which is right on so many of 40 items."""
    rows = [
        {"item": f"c{n}", "label": 3 * (n % 2), "question": "?", "reference": "384,400 km",
         "answer": "So far.", "verdict": 3 * ((n % 2) if n < right else 1 - n % 2)}
        for n in range(40)
    ]  # fmt: skip
    Path("cards.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    said = cli("judge", "check", "config.yaml", "--labels", "cards.jsonl", "--threshold", "2")
    assert said.status == 0, said.err


RULE = {"metric": "correctness", "drop_more_than": 0.05, "judge": {"balanced_accuracy": 0.6}}


class TestAGate:
    @pytest.fixture
    def night(self, judged, cli):
        """Return what runs again with the rules of a gate, against a first run."""
        judged.config(retrievers=["bm25"])  # a cell whose embedder is a floor is not judged

        def run_again(**rules):
            first = ran(cli)
            assert cli("baseline", "set", str(first.folder), "--name", "main").status == 0
            judged.config(gate=rules)
            said = cli("run", "config.yaml")
            return said.status, " ".join(f"{said.out} {said.err}".split())

        return run_again

    def test_cannot_tell_without_a_card(self, night):
        status, text = night(fail_if=[RULE])

        assert status == 3
        assert "nobody has held its judge against people" in text

    def test_cannot_tell_by_a_judge_below_the_floor(self, judged, night, cli):
        write_card(judged, cli, 22)
        status, text = night(fail_if=[RULE])

        assert status == 3
        assert "is not shown to be above 0.6" in text

    def test_judges_by_a_judge_that_reaches_it(self, judged, night, cli):
        write_card(judged, cli, 38)

        assert night(fail_if=[RULE])[0] == 0

    def test_a_least_mean_is_held_against_the_corrected_one(self, judged, night, cli):
        judged.config(retrievers=["bm25"])
        with_labels(judged, rows(ran(cli), DRAWN), drawn="random")
        mean = expected(DRAWN).corrected.value
        judge = float(np.mean([judge_grade(n) / 3 for n in range(QUESTIONS)]))
        assert mean < judge - 0.02
        status, text = night(min={"correctness": round((mean + judge) / 2, 3)})

        assert status == 1
        assert "the mean corrected by people's labels, " in text


def test_ratings_of_forms_are_labels(judged, cli):
    stored = ran(cli)
    assert cli("rate", str(stored.folder), "--n", "30").status == 0
    (key,) = (stored.folder / "forms").glob("*.json")
    form = json.loads(key.read_text("utf-8"))
    saved = {
        "harness_ratings": 1,
        "form": form["id"],
        "rater": 1,
        "saved": "2026-01-01T00:00:00Z",
        "items": [
            {"item": item["item"], "correctness": people_grade(int(item["question"][1:]))}
            for item in form["items"]
        ],
    }
    Path("ratings.json").write_text(json.dumps(saved), "utf-8")
    said = cli("import", "ratings", "ratings.json", "--run", str(stored.folder))
    assert said.status == 0, said.err
    after = reader.load(stored.folder)
    (cell,) = after.run.corrected["correctness"].cells

    assert cell.mean == expected([int(item["question"][1:]) for item in form["items"]])
    again = cli("import", "ratings", "ratings.json", "--run", str(stored.folder))
    assert again.status == 0
    assert reader.load(stored.folder).run.corrected == after.run.corrected


class TestRateFor:
    def form(self, stored, *options):
        (key,) = {*(stored.folder / "forms").glob("*.json")}
        return json.loads(key.read_text("utf-8"))

    def test_draws_evenly_over_the_judges_grades(self, judged, cli):
        stored = ran(cli)
        said = cli("rate", str(stored.folder), "--for", "correctness", "--n", "20", "--seed", "3")
        form = self.form(stored)
        grades = [judge_grade(int(item["question"][1:])) for item in form["items"]]

        assert said.status == 0, said.err
        assert (form["metric"], form["drawn"]) == ("correctness", "rate:3")
        assert sorted(grades) == sorted([0, 1, 2, 3] * 5)  # 15 of each grade: every third
        assert "the judge has no card" in said.err

    def test_says_beforehand_what_the_labels_will_save(self, judged, cli):
        write_card(judged, cli, 36)
        stored = ran(cli)
        rho = stored.run.judges["correctness"].card.card.pearson.value
        said = cli("rate", str(stored.folder), "--for", "correctness", "--n", "20")

        saved = round(100 * rho**2 / (1 + 20 / 40))
        assert f"save about {saved} % of others, at most {round(100 * rho**2)} %" in (
            said.err.replace("\u00a0", " ")
        )

    def test_shows_the_answers_of_all_cells_to_each_question(self, judged, cli):
        judged.config(chunkers=["sentence", {"fixed": {"size": 30, "overlap": 0}}])
        stored = ran(cli)
        cli("rate", str(stored.folder), "--for", "correctness", "--n", "20")
        cells = {}
        for item in self.form(stored)["items"]:
            cells.setdefault(item["question"], set()).update(item["cells"])

        assert len(cells) == 20
        assert all(len(names) == 2 for names in cells.values())

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                ["--for", "correctness", "--n", "61"],
                "--n 61 is more than there is: the judge scored 60",
            ),
            (["--for", "fluency"], "the run has no metric 'fluency'"),
            (["--for", "token_f1"], "a form asks nothing that would label 'token_f1'"),
        ],
    )
    def test_what_cannot_be_drawn_is_refused(self, judged, cli, options, message):
        said = cli("rate", str(ran(cli).folder), *options)

        assert said.status == 2
        assert message in said.err


def test_each_item_of_a_systematic_sample_has_the_same_chance():
    grades = {str(n): n % 4 for n in range(50)}
    counts = dict.fromkeys(grades, 0)
    for seed in range(2_000):
        for name in systematic_sample(grades, 12, seed):
            counts[name] += 1

    assert all(abs(count / 2_000 - 12 / 50) < 0.05 for count in counts.values())
