"""Which answers people are asked to rate: evenly, over the same questions, and by whom."""

import json
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from harness.errors import HarnessError
from harness.people.rating_forms import FORM_KEYS
from harness.records import ContextCut
from tests.support.rating_made import answered, chosen

SIX = ["a", "b", "c", "d", "e", "f"]


@pytest.fixture(scope="module")
def run():
    return answered(SIX, 180)


def test_cells_are_rated_over_the_same_questions_and_equally_often(run):
    made = chosen(run, n=50)

    by_question = Counter(item.question for item in made.key.items)
    assert len(made.key.items) == 50
    assert sorted(by_question.values()) == [2, 6, 6, 6, 6, 6, 6, 6, 6]
    assert sorted(made.cells.values()) == [8, 8, 8, 8, 9, 9]
    assert sum(made.cells.values()) == 50
    assert list(made.cells) == SIX


def test_the_same_seed_gives_the_same_form_and_another_gives_another(run):
    first, again, other = chosen(run), chosen(run), chosen(run, seed=8)

    assert first.key.seed == 7
    assert first.key == again.key
    assert first.key.id != other.key.id
    assert {item.question for item in first.key.items} != {
        item.question for item in other.key.items
    }
    assert len({item.item for item in first.key.items}) == 50


def test_what_is_shown_first_says_nothing_of_the_cell_or_of_the_rank(run):
    items = chosen(run, n=120).key.items
    place = {cell: [] for cell in SIX}
    for at, item in enumerate(items):
        place[item.cells[0]].append(at)
    ranks = Counter(item.chunks[0].start % 1000 for item in items)

    assert all(40 < sum(each) / len(each) < 80 for each in place.values())
    assert set(ranks) == {0, 10}
    assert min(ranks.values()) > 40


def test_cells_that_gave_the_same_share_an_item():
    stored = answered(["a", "b", "c"], 4, answer="all say {question}")
    same = [
        replace(record, hits=list(reversed(stored.records[at % 4].hits)))
        if record.cell == "b"
        else record
        for at, record in enumerate(stored.records)
    ]
    made = chosen(replace(stored, records=tuple(same)), n=100)

    # a and b from the same chunks in another order; c the same answer from other chunks
    assert Counter(tuple(item.cells) for item in made.key.items) == {("a", "b"): 4, ("c",): 4}
    assert made.cells == {"a": 4, "b": 4, "c": 4}


def test_only_the_chunks_of_the_context_are_rated():
    stored = answered(["a"], 1, chunks=4)
    record = stored.records[0]
    size = len([*stored.texts.values()][1]) - 3
    short = replace(record, context=ContextCut(2, size))
    made = chosen(replace(stored, records=(short,)))

    assert sorted(chunk.start for chunk in made.key.items[0].chunks) == [0, 10]


@pytest.mark.parametrize(("share", "twice"), [(0, 0), (0.2, 10), (0.25, 13), (1, 50)])
@pytest.mark.parametrize("raters", [2, 3, 5])
def test_exactly_the_share_goes_to_two_raters_and_the_rest_is_dealt_out(run, raters, share, twice):
    items = chosen(run, n=50, raters=raters, shared=share).key.items
    load = Counter(rater for item in items for rater in item.raters)
    of_question = defaultdict(list)
    for item in items:
        of_question[item.question].append(set(item.raters))

    assert Counter(len(item.raters) for item in items)[2] == twice
    assert all(item.raters == tuple(sorted(set(item.raters))) for item in items)
    assert set(load) == set(range(1, raters + 1))
    assert sum(load.values()) == 50 + twice
    assert max(load.values()) - min(load.values()) <= 6
    # one person sees all cells of a question
    assert all(set.intersection(*each) for each in of_question.values())


def test_one_rater_rates_all(run):
    assert {tuple(item.raters) for item in chosen(run, n=50).key.items} == {(1,)}


def test_what_failed_or_has_no_answer_is_left_out_and_counted():
    holes = {"failed": [("a", "q0"), ("b", "q1")], "silent": [("a", "q2")]}
    stored = answered(["a", "b"], 6, **holes)
    few, all_ = chosen(stored, n=6), chosen(stored, n=50)

    assert {item.question for item in few.key.items} == {"q3", "q4", "q5"}  # those of both
    assert Counter(item.cells[0] for item in all_.key.items) == {"a": 4, "b": 5}
    notes = all_.notes
    assert notes[0] == "left out of what could be drawn: 2 failed, 1 have no answer"
    assert notes[1] == "there is no more to rate than 9 items"
    assert notes[2].startswith("the cell with the fewest has 4 items, too few to tell 2 cells")


def test_only_the_cells_that_are_named_are_drawn_from(run):
    made = chosen(run, n=50, cells=["e", "b"])

    assert made.cells == {"b": 25, "e": 25}
    assert len({item.question for item in made.key.items}) == 25
    assert made.summary() == "50 items, 25 questions in 2 cells"
    assert made.notes == []


def test_cells_without_an_item_are_not_counted(run):
    assert chosen(run, n=1).summary() == "1 item, 1 question in 1 cell"


def test_what_cannot_be_chosen_is_refused(run):
    with pytest.raises(HarnessError, match=r"no cell has the name 'g'\n  .*choose from: a, b, c"):
        chosen(run, cells=["g"])
    silent = [("a", "q0"), ("a", "q1")]
    with pytest.raises(HarnessError, match="'made' has no answer to rate\n  a run with a gene"):
        chosen(answered(["a"], 2, silent=silent))
    few = "6 items of 1 question are too few for 2 raters\n  ask for more items: --n"
    with pytest.raises(HarnessError, match=few):
        chosen(run, n=6, raters=2)


def test_the_key_reads_back(run):
    key = chosen(run, raters=2).key

    assert FORM_KEYS.parse(json.dumps(FORM_KEYS.data(key))) == key
