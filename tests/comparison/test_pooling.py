"""The samples of several days as one side: `pooling`."""

import json
import shutil
from datetime import date, timedelta
from itertools import compress

import pytest

from harness import api
from harness.comparison import operand as sides
from harness.comparison.gate import pooling
from harness.config.run_config import load
from harness.errors import DataError
from harness.runs import runner
from harness.store import reader
from tests.support.small import QUESTIONS, project

FIRST = date.fromordinal(739_580)
"""On which a round of five questions begins, two a day."""
METRIC = "passage_recall@2"
SETTINGS = {
    "sample": 2,
    "retrievers": ["bm25"],
    "chunkers": [{"fixed": {"size": 60}}],
    "metrics": [METRIC, "token_f1", "corpus_bleu"],
}


class Nights:
    """Runs of a small project, one a day; `began` and the folder's name are of that day."""

    def __init__(self, folder):
        self.folder = folder
        self.runs = []

    def run(self, day, questions=None, **changes):
        """Run the sample of the day of that number; return its folder, in `nights`."""
        config = project(self.folder, questions, **{**SETTINGS, **changes})
        today = FIRST + timedelta(days=day)
        ready = runner.prepare(load(config, [], {}), today=today)
        made = api.run(ready, lambda *_: None).folder
        place = self.folder / "nights" / f"{today:%Y%m%d}-{len(self.runs)}"
        place.parent.mkdir(exist_ok=True)
        shutil.move(made, place)
        self.runs.append(place)
        change(place, started=f"{today.isoformat()}T03:00:00+00:00", id=place.name)
        return place


def change(place, **changes):
    path = place / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    (place / "sums.json").unlink(missing_ok=True)


@pytest.fixture
def nights(tmp_path):
    return Nights(tmp_path)


def asked(place):
    return set(reader.load(place).questions)


def values(side):
    """Return the one cell's score of each question that it was asked."""
    (cell,) = side.cells.values()
    return dict(
        compress(zip(side.questions, cell.columns[METRIC].scores(), strict=True), cell.asked)
    )


def names(*places):
    return tuple(place.name for place in places)


def test_the_days_together_have_every_question_with_its_value(nights):
    one, two, three = (nights.run(day) for day in range(3))
    pool = pooling.pool_runs(three, 7)

    assert pool.runs == names(three, two, one)
    assert set(pool.operand.questions) == {each["id"] for each in QUESTIONS}
    assert (pool.stopped, pool.left_out) == ("", ())
    for place in (one, two, three):
        own = values(sides.read(place))
        assert {id_: values(pool.operand)[id_] for id_ in own} == own
    assert str(pool) == (
        "5 of 5 questions, from the last 3 runs of at most 7 days, each with its latest value."
    )


def test_the_pool_has_the_scores_that_a_whole_run_has(nights):
    three = [nights.run(day) for day in range(3)][-1]
    whole = sides.read(nights.run(3, sample=None))

    assert values(pooling.pool_runs(three, 7).operand) == values(whole)


def test_a_question_asked_twice_has_its_latest_value(nights):
    old, new = nights.run(0), nights.run(0)
    lines = [json.loads(line) for line in (old / "records.jsonl").read_text().splitlines()]
    for line in lines:
        line["scores"][METRIC]["value"] = 0.125
    (old / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert values(pooling.pool_runs(new, 7).operand) == values(sides.read(new))
    assert {score.value for score in values(pooling.pool_runs(old, 7).operand).values()} == {0.125}


def test_a_whole_run_is_a_side_by_itself_and_in_no_pool(nights):
    one, whole, two = nights.run(0), nights.run(1, sample=None), nights.run(1)

    assert pooling.pool_runs(whole, 7).runs == names(whole)
    assert str(pooling.pool_runs(whole, 7)) == ""
    assert pooling.pool_runs(two, 7).runs == names(two, one)


ELSE = {"id": "else", "question": "Who rides?", "answerable": False}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"context": {"chunks": 1}}, "`context` changed"),
        ({"chunkers": [{"fixed": {"size": 60}}, "markdown"]}, "`chunkers` changed"),
        ({"metrics": [METRIC, "token_f1"]}, "`metrics` changed"),
        ({"retrieve": 4}, "`retrieve` changed"),
        ({"questions": [*QUESTIONS, ELSE]}, "the test set changed"),
    ],
)
def test_a_change_begins_the_pool_anew_and_is_said(nights, changes, said):
    nights.run(0)
    before, after = nights.run(1, **changes), nights.run(2)
    pool = pooling.pool_runs(after, 7)

    assert pool.runs == names(after)
    assert pool.stopped == f"{before.name} is from before {said}"
    assert f"The pool starts again: {pool.stopped}." in str(pool)


@pytest.mark.parametrize("changes", [{"sample": 3}, {"margin": 0.1}, {"targets": {METRIC: 0.5}}])
def test_what_leaves_the_values_as_they_are_is_no_change(nights, changes):
    before, after = nights.run(0), nights.run(1, **changes)

    assert pooling.pool_runs(after, 7).runs == names(after, before)


def test_runs_of_other_cells_and_unfinished_ones_are_left_out_and_end_nothing(nights):
    one = nights.run(0)
    other = nights.run(1, retrievers=["dense"])
    broken = nights.run(1)
    change(broken, status="interrupted")
    damaged = nights.run(1)
    (damaged / "records.jsonl").write_bytes(b"\xff\n")
    last = nights.run(2)
    pool = pooling.pool_runs(last, 7)

    assert pool.runs == names(last, one)
    assert pool.stopped == ""
    left_out = {each.split(",")[0]: each for each in pool.left_out}
    assert left_out.keys() == {other.name, broken.name, damaged.name}
    assert left_out[other.name] == f"{other.name}, which has no cell of this run's"
    assert left_out[broken.name] == f"{broken.name}, which is interrupted"
    assert "records.jsonl" in left_out[damaged.name]


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"sample": {}}', b"\xff", b"[" * 100_000, b"null"]
)
def test_what_is_no_run_is_passed_over(nights, content):
    last = nights.run(0)
    (last.parent / "else").mkdir()
    (last.parent / "else" / "run.json").write_bytes(content)

    assert pooling.pool_runs(last, 7).runs == names(last)


def test_a_run_of_no_time_is_refused_with_its_place(nights):
    last = nights.run(0, sample_seed=1)
    change(last, started="soon")

    with pytest.raises(DataError, match=r"run\.json: started: 'soon' is no time"):
        pooling.pool_runs(last, 7)


def test_a_fixed_sample_is_pooled_by_the_days_of_its_runs(nights):
    old, new = nights.run(0, sample_seed=1), nights.run(2, sample_seed=1)

    assert pooling.pool_runs(new, 3).runs == names(new, old)
    assert pooling.pool_runs(new, 2).runs == names(new)
    assert len(pooling.pool_runs(new, 3).operand.questions) == 2
