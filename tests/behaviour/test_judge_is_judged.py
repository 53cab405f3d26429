"""`judge check`: how often a judge is right where the verdict is known, and what sways it."""

import json

import pytest

from tests.behaviour.golden import check_numbers, check_text
from tests.behaviour.servers import best, part, serving

HALLS = 6


@pytest.fixture
def judge(project):
    """Return the judge of a project of halls, each of which has a number."""
    rows = []
    for number in range(HALLS):
        text = f"The number of hall {number} is {number}{number}."
        project.document(f"h{number}.md", text)
        rows.append(
            {
                "question": f"What is the number of hall {number}?",
                "answers": [f"It is {number}{number}."],
                "evidence": [{"doc": f"h{number}.md", "quote": text}],
            }
        )
    project.testset(*rows)
    with serving() as chat:
        project.config(judge=chat.settings())
        yield chat


def figures(cli, *options):
    """Return the figures of `judge check`, by name: value and n."""
    said = cli("judge", "check", "config.yaml", "--json", *options)
    assert said.status == 0, said.err
    checked = json.loads(said.out)
    assert checked["judge"] == "openai:judge"
    return {figure["name"]: (figure["value"], figure["n"]) for figure in checked["figures"]}


def right(prompt):
    """Give the verdict that is right by construction."""
    if "\nStatement: " in prompt:
        number = part(prompt, "Statement").removeprefix("It is ")[0]
        return "yes" if f"hall {number} is" in part(prompt, "Context") else "no"
    number = part(prompt, "Question").split()[-1].rstrip("?")
    return "3" if f"It is {number}{number}." in part(prompt, "Answer") else "0"


def test_a_judge_that_is_always_right_has_nothing_against_it(judge, cli):
    judge.says = right
    found = figures(cli)

    assert {name: found[name] for name in ("supported", "unsupported", "right", "wrong")} == {
        "supported": (1.0, HALLS),
        "unsupported": (1.0, HALLS),
        "right": (1.0, HALLS),
        "wrong": (1.0, HALLS),
    }
    assert {name: found[name] for name in ("again", "order", "length", "urged", "not urged")} == {
        "again": (0.0, 4 * HALLS),
        "order": (0.0, 2 * HALLS),
        "length": (0.0, 2 * HALLS),
        "urged": (0.0, 2 * HALLS),
        "not urged": (0.0, 2 * HALLS),
    }


def swayed(prompt):
    """Go by the first passage, by padding and by pleas."""
    if "\nStatement: " in prompt:
        first = part(prompt, "Context").split("\n")[0]
        number = part(prompt, "Statement").removeprefix("It is ")[0]
        return "yes" if f"hall {number} is" in first or "Ignore" in prompt else "no"
    return "2" if "This is what was asked about." in part(prompt, "Answer") else "1"


def test_a_judge_that_is_swayed_by_order_length_and_pleas_is_found_out(judge, cli):
    judge.says = swayed
    found = figures(cli)

    # A right answer's evidence stands first, then last; of a wrong one it stands nowhere.
    assert found["order"] == (0.5, 2 * HALLS)
    assert found["length"] == (pytest.approx(1 / 3), 2 * HALLS)
    assert found["urged"] == (0.5, 2 * HALLS)
    assert found["not urged"] == (0.0, 2 * HALLS)


def test_a_judge_that_says_yes_to_all_is_wrong_where_the_answer_is(judge, cli):
    found = figures(cli)

    assert (found["supported"][0], found["unsupported"][0]) == (1.0, 0.0)
    assert (found["right"][0], found["wrong"][0]) == (1.0, 0.0)


def test_a_judge_that_changes_its_mind_is_found_out(judge, cli):
    heard = set()

    def says(prompt):
        if "\nStatement: " in prompt:
            return "yes"
        again = prompt in heard
        heard.add(prompt)
        return "0" if again else "3"

    judge.says = says
    found = figures(cli)

    # Of statements none changes, of grades all do.
    assert found["again"] == (0.5, 4 * HALLS)


def test_n_says_how_many_questions_are_drawn(judge, cli):
    assert figures(cli, "--n", "2")["supported"] == (1.0, 2)


def test_the_table_has_intervals_and_what_each_figure_is(judge, cli):
    judge.says = swayed
    said = cli("judge", "check", "config.yaml")
    numbers = json.loads(cli("judge", "check", "config.yaml", "--json").out)["figures"]

    check_text("judge_check", said.out)
    check_numbers(
        "judge_check",
        {
            figure["name"]: [figure[key] for key in ("value", "low", "high", "n", "failed")]
            for figure in numbers
        },
    )


def test_a_judge_that_gives_no_verdict_ends_with_3_and_half_of_them_is_said(judge, cli):
    judge.says = lambda prompt: "yes" if "\nStatement: " in prompt else "Hm."
    half = cli("judge", "check", "config.yaml")
    judge.says = lambda prompt: (400, "no such judge")
    none = cli("judge", "check", "config.yaml")

    assert half.status == 0, half.err
    assert "metric failed: no verdict in 3 replies, the last of them 'Hm.'" in half.out
    assert (none.status, none.out) == (3, "")
    assert none.err.startswith("the judge gave no verdict: ")
    assert "no such judge" in none.err


def test_a_check_without_a_judge_or_with_too_few_questions_is_refused(project, cli):
    none = cli("judge", "check", "config.yaml")
    with serving(best) as chat:
        few = cli("judge", "check", "config.yaml", "--set", f"judge={json.dumps(chat.settings())}")
        asked = len(chat.requests)

    assert none.status == 2
    assert "config.yaml has no judge" in none.err
    assert few.status == 2
    assert "4 or more questions that have an answer and evidence" in few.err
    assert asked == 0
