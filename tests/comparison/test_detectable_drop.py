"""What `validate` promises of a gate: which tests it counts, and the drops that they can catch."""

import numpy as np
import pytest

from harness.comparison.gate.detectable_drop import ScoreSpread
from harness.config.gate_rules import Drop
from harness.stats import mcnemar, power

RULES = [
    {"metric": "hit_rate@1", "drop_more_than": 0.05},
    {"metric": "hit_rate@2", "drop_more_than": 0.05},
]


@pytest.fixture
def stations(project):
    """Return a project of 24 questions about 4 documents, six a document."""
    for number in range(4):
        text = " ".join(f"Station {number * 6 + at} has {at + 30} docks." for at in range(6))
        project.document(f"{number}.md", text + "\n")
    project.testset(
        *(
            {
                "id": f"q{at}",
                "question": f"How many docks has station {at}?",
                "documents": {f"{at // 6}.md": 1},
            }
            for at in range(24)
        )
    )
    project.config(
        labels="documents",
        retrievers=["bm25"],
        metrics=["hit_rate@1", "hit_rate@2"],
        gate={"fail_if": RULES},
    )
    return project


def counted(cli):
    said = cli("validate", "config.yaml")
    assert said.status == 0, said.err
    (line,) = [line for line in said.out.split("\n") if "corrected together" in line]
    return line.removeprefix("caught four times in five, of ").split(" corrected")[0]


def test_floors_and_cells_of_another_name_are_not_counted(stations, cli):
    stations.config(chunkers=["sentence", "whole"], retrievers=["bm25", "dense"])
    assert counted(cli) == "4 one-sided tests"  # the two of dense are floors

    name = "whole × bm25 × extractive"
    stations.config(gate={"fail_if": RULES, "cell": name})
    assert counted(cli) == "2 one-sided tests"

    floor = "whole × hashing(dimensions=64) × dense × extractive"
    stations.config(gate={"fail_if": RULES, "cell": floor})
    assert counted(cli) == "2 one-sided tests"


def test_cells_that_the_baseline_lacks_are_not_counted(stations, cli):
    stations.config(chunkers=["sentence", "whole"], gate=None)
    assert cli("run", "config.yaml").status == 0
    (run,) = (stations.folder / "reports").glob("2*")
    promoted = cli("baseline", "set", run, "--cell", "whole × bm25 × extractive")
    assert promoted.status == 0, promoted.err

    stations.config(gate={"fail_if": RULES})
    assert counted(cli) == "2 one-sided tests"

    stations.config(gate={"fail_if": RULES, "cell": "sentence × bm25 × extractive"})
    said = cli("validate", "config.yaml")
    assert "note: no cell will be judged: each is a floor, or not in the baseline" in said.out
    assert said.status == 0


def test_where_whole_clusters_are_drawn_they_are_counted(stations, cli):
    assert "n = 24: a drop of " in cli("validate", "config.yaml").out

    stations.config(clusters=True)
    assert "n = 24 in 4 clusters is too few to catch any drop" in cli("validate", "config.yaml").out


@pytest.mark.parametrize("family", [1, 20])
def test_a_drop_is_caught_at_the_level_of_the_first_step_of_its_family(family):
    rule, level = Drop("hit_rate@1", 0.0), 0.1 / family
    graded = np.linspace(0.2, 0.9, 100)

    assert ScoreSpread(100).smallest_detectable_drop(
        rule, family, 7
    ) == mcnemar.smallest_detectable(100, 10, mcnemar.wins_that_reject(100, level))
    assert ScoreSpread(100, np.repeat([0.0, 1.0], 50)).smallest_detectable_drop(
        rule, family, 7
    ) == mcnemar.smallest_detectable(100, 25, mcnemar.wins_that_reject(100, level))
    differences = (1 + graded.mean() - graded)[:, None]
    critical = np.array([power.critical_value(100, level)])
    assert ScoreSpread(100, graded).smallest_detectable_drop(rule, family, 7) == pytest.approx(
        power.smallest_detectable(differences, critical, 7)[0]
    )


def test_a_larger_family_catches_less():
    rule, graded = Drop("hit_rate@1", 0.0), np.linspace(0.2, 0.9, 100)

    for spread in (ScoreSpread(100), ScoreSpread(100, graded)):
        assert spread.smallest_detectable_drop(rule, 1, 7) < spread.smallest_detectable_drop(
            rule, 20, 7
        )


def test_clusters_of_questions_that_are_alike_count_as_one_question_each():
    rule, graded = Drop("ndcg@10", 0.02), np.linspace(0.2, 0.9, 20)
    thrice = ScoreSpread(60, np.repeat(graded, 3), np.repeat(np.arange(20), 3))

    assert thrice.smallest_detectable_drop(rule, 3, 7) == pytest.approx(
        ScoreSpread(20, graded).smallest_detectable_drop(rule, 3, 7)
    )


def test_of_no_question_nothing_is_caught():
    assert ScoreSpread(0).smallest_detectable_drop(Drop("ndcg@10", 0.02), 1, 7) is None
    assert ScoreSpread(0, np.zeros(0), np.zeros(0, dtype=np.int64)).clusters == 0
