"""Which questions a sampled run asks: by the day or by a number, alone and in runs."""

import json
from collections import Counter
from datetime import date, timedelta

import pytest

from harness import api
from harness.config.run_config import load
from harness.report import run_summary, terminal
from harness.report.run_view import View
from harness.runs import run_inputs, runner
from harness.stats.clusters import find_clusters
from harness.store import reader
from tests.support.small import project

DAY = date(2026, 11, 21)


def ids(size):
    return [f"q{number}" for number in range(size)]


def days(all_, size, number, seed=7, first=DAY):
    return [
        run_inputs.sample_of_day(all_, size, seed, first + timedelta(days=after))
        for after in range(number)
    ]


class TestOfDay:
    @pytest.mark.parametrize(("of", "size"), [(180, 20), (10, 5), (6, 1)])
    def test_a_round_asks_every_question_once(self, of, size):
        per_round = of // size
        first = date.fromordinal(per_round * 1000)
        for start in range(3):
            asked = days(ids(of), size, per_round, first=first + timedelta(start * per_round))
            assert Counter(id_ for day in asked for id_ in day) == dict.fromkeys(ids(of), 1)

    @pytest.mark.parametrize(("of", "size"), [(7, 3), (50, 20), (181, 20), (5, 4)])
    def test_no_question_is_asked_twice_a_day_or_twice_in_the_days_of_one_round(self, of, size):
        for day in days(ids(of), size, 60):
            assert len(day) == len(set(day)) <= size
        for round_ in range(100_000, 100_010):
            first, last = round_ * of, (round_ + 1) * of - 1
            whole = range(-(-first // size), (last + 1) // size)
            asked = [
                id_
                for number in whole
                for id_ in run_inputs.sample_of_day(ids(of), size, 7, date.fromordinal(number))
            ]
            assert len(asked) == len(set(asked)) == len(whole) * size

    def test_another_day_round_or_seed_has_others(self):
        today, tomorrow = days(ids(40), 10, 2, first=date.fromordinal(4 * 1000))
        (next_round,) = days(ids(40), 10, 1, first=date.fromordinal(4 * 1001))
        (other_seed,) = days(ids(40), 10, 1, seed=8, first=date.fromordinal(4 * 1000))

        assert set(today).isdisjoint(tomorrow)
        assert len({today, tomorrow, next_round, other_seed}) == 4

    def test_a_question_more_leaves_the_order_of_the_others_as_it_is(self):
        before = run_inputs.fixed_sample(ids(100), 30, 7)
        after = run_inputs.fixed_sample([*ids(100), "new"], 31, 7)

        assert len(set(before) - set(after)) <= 1

    def test_each_question_is_as_likely_as_any_other(self):
        drawn = Counter(
            id_ for seed in range(2_000) for id_ in run_inputs.fixed_sample(ids(10), 3, seed)
        )

        # 600 of 2,000 each; the standard deviation is the root of 2,000 x 0.3 x 0.7, 20.5.
        assert all(abs(times - 600) < 4 * 20.5 for times in drawn.values())


def prepared(folder, today=DAY, limit=None, **changes):
    return runner.prepare(load(project(folder, **changes), [], {}), limit, today=today)


def asked(ready):
    return [question.id for question in ready.testset.questions]


class TestRuns:
    def test_a_sample_says_of_how_many_it_is_by_what_seed_and_of_which_day(self, tmp_path):
        ready = prepared(tmp_path, sample=2, retrievers=["bm25"], chunkers=["markdown"])
        finished = api.run(ready, lambda *_: None)
        stored = reader.load(finished.folder)

        assert json.loads((finished.folder / "run.json").read_text())["sample"] == {
            "size": 2, "of": 5, "seed": 7, "day": "2026-11-21",
        }  # fmt: skip
        assert [record.question for record in stored.records] == asked(ready)
        assert list(stored.questions) == asked(ready)
        assert stored.run.provenance.testset["questions"] == 5
        assert stored.run.provenance.testset["hash"] == ready.whole.id
        said = "a sample of 2 of the 5 questions, those of 2026-11-21"
        blocks = run_summary.blocks(finished.folder, View(reader.load(finished.folder)))
        assert said in " ".join(terminal.render(blocks).split())
        page = (finished.folder / "report.md").read_text()
        assert said in page
        assert "2 of 5 questions, by seed 7, those of 2026-11-21 (UTC)" in page

    def test_the_limit_cuts_first_and_the_sample_is_of_what_is_left(self, tmp_path):
        ready = prepared(tmp_path, limit=3, sample=2)

        assert set(asked(ready)) < {"day", "docks", "age"}
        assert ready.sample.line.of == 3
        assert ready.whole.id != prepared(tmp_path).testset.id

    def test_another_days_sample_continues_nothing_of_a_run_that_was_broken_off(self, tmp_path):
        def broken(work, *_):
            if "bm25" in work:
                raise KeyboardInterrupt

        settings = {"sample": 2, "retrievers": ["bm25"], "chunkers": ["markdown"]}
        with pytest.raises(KeyboardInterrupt):
            api.run(prepared(tmp_path, **settings), broken)
        before = {path.name for path in (tmp_path / "reports").glob("2*")}
        notes = []
        tomorrow = prepared(tmp_path, DAY + timedelta(1), **settings)
        other = api.run(tomorrow, lambda *_: None, note=notes.append)
        same = api.run(prepared(tmp_path, **settings), lambda *_: None, note=notes.append)

        assert other.folder.name not in before
        assert len(before) == 1
        assert [same.folder.name] == list(before)
        assert [note.partition(" ")[0] for note in notes].count("continuing") == 1

    def test_clusters_are_those_of_the_whole_test_set(self, tmp_path):
        ready = prepared(tmp_path, sample=3, clusters=True)
        whole = find_clusters(ready.whole.questions)

        assert ready.clusters == {id_: whole[id_] for id_ in asked(ready)}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sample": 0}, "sample: Input should be greater than 0, not 0"),
        ({"sample": 2.5}, "sample: Input should be a valid integer, not 2.5"),
        ({"sample_seed": "daily"}, "must be `date` or a whole number from 0, not 'daily'"),
        ({"sample_seed": -1}, "must be `date` or a whole number from 0, not '-1'"),
        ({"sample_seed": True}, "must be `date` or a whole number from 0, not 'True'"),
        ({"sample_seed": DAY}, "must be `date` or a whole number from 0, not '2026-11-21'"),
    ],
)
def test_what_is_no_sample_is_refused(project, refused, changes, said):
    project.config(**changes)

    assert said in refused()[1]
