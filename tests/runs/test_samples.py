"""`repeat`: a question is asked several times, and its scores are means over its samples."""

from dataclasses import dataclass

import pytest

from harness import api
from harness.errors import StageError
from harness.records import Answer, Score, not_scored
from harness.runs import runner
from harness.runs.scoring import _average_samples
from harness.store import reader
from tests.runs.test_active_run import quiet, with_generator
from tests.support.small import project

METRICS = ["hit_rate@2", "exact_match", "abstention", "decline_recall"]


@dataclass(frozen=True)
class Varying:
    """A generator whose samples 1 and 3 are right, and whose sample 2 declines."""

    fails_at: int = -1

    name = "varying"
    version = 1
    answers = True
    copies = False
    at_once = 1
    repeat = 4

    def check(self):
        pass

    def answer(self, question, context, sample=0):
        if sample == self.fails_at and "docks" in question:
            raise StageError("busy")
        said = ["wrong", "6 dollars", "", "24 docks"][sample]
        return Answer(said, declined=not said, tokens_out=sample, prompt=f"{question} {sample}")


def run(folder, generator):
    config = project(
        folder, chunkers=["markdown"], retrievers=["bm25"], metrics=METRICS, max_failures=2
    )
    return api.run(with_generator(config, generator), quiet)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(tmp_path_factory.mktemp("project"), Varying())


def test_a_score_is_the_mean_over_the_samples_and_each_is_kept(finished):
    day, docks, *_, ceo = reader.load(finished.folder).records

    assert [sample.answer for sample in day.samples] == ["wrong", "6 dollars", "", "24 docks"]
    assert [s.scores["exact_match"].value for s in day.samples] == [0, 1, 0, 0]
    assert day.scores["exact_match"].value == docks.scores["exact_match"].value == 0.25
    assert day.scores["exact_match"].reason == "mean of 4 of 4 samples"
    assert day.scores["abstention"].value == 0.75
    assert ceo.scores["abstention"].value == 0.25
    assert ceo.scores["decline_recall"].counts == (0.25, 1)
    assert day.scores["hit_rate@2"].value == 1
    assert (day.answer, day.prompt) == ("wrong", ("What does a day pass cost? 0",))
    assert [sample.usage.tokens_out for sample in day.samples] == [0, 1, 2, 3]


def test_means_count_each_question_once_and_the_spread_is_within_questions(finished):
    (cell,) = finished.run.cells

    assert cell.scores["exact_match"].n == 4
    assert cell.scores["exact_match"].mean == pytest.approx((0.25 + 0.25 + 0 + 0) / 4)
    # The values 0, 1, 0, 0 have the sample variance (3 * 0.25**2 + 0.75**2) / 3 = 0.25.
    assert cell.spread["exact_match"].deviation == pytest.approx((0.5 + 0.5 + 0 + 0) / 4)
    assert cell.spread["exact_match"].n == 4
    assert cell.spread["hit_rate@2"].deviation == 0
    assert "Spread across samples" in (finished.folder / "report.md").read_text()


def test_one_answer_a_question_has_no_spread(tmp_path):
    finished = api.run(runner.prepare(load_small(tmp_path)), quiet)

    assert finished.run.cells[0].spread == {}
    assert "Spread across samples" not in (finished.folder / "report.md").read_text()


def load_small(folder):
    from harness.config.run_config import load

    return load(project(folder, chunkers=["markdown"], retrievers=["bm25"]), [], {})


def test_a_sample_that_fails_fails_its_question_and_no_other(tmp_path):
    finished = run(tmp_path, Varying(fails_at=2))
    records = {record.question: record for record in reader.load(finished.folder).records}

    assert records["docks"].error.reason == "busy"
    assert records["docks"].samples == ()
    assert records["docks"].scores["exact_match"].state == "failed"
    assert records["day"].scores["exact_match"].value == 0.25


def test_samples_are_kept_and_a_larger_repeat_asks_only_for_the_new_ones(tmp_path):
    first = run(tmp_path, Varying())
    again = run(tmp_path, Varying())

    assert first.run.cache["answers"] == {"made": 20, "reused": 0}
    assert again.run.cache["answers"] == {"made": 0, "reused": 20}


def test_scoring_again_scores_every_sample(tmp_path):
    finished = run(tmp_path, Varying())
    run_file = api.score(finished.folder, ["exact_match", "token_f1"])
    day = reader.load(finished.folder).records[0]

    assert run_file.cells[0].scores["exact_match"] == finished.run.cells[0].scores["exact_match"]
    assert [sample.scores["token_f1"].value for sample in day.samples] == [0, 1, 0, 0]
    assert day.scores["token_f1"].value == 0.25
    assert run_file.cells[0].spread["token_f1"].n == 4


def test_a_sample_that_is_not_scored_is_left_out_and_said():
    none = not_scored("declined")

    assert _average_samples([Score(1.0), none, Score(0.5)]) == Score(0.75, "mean of 2 of 3 samples")
    assert _average_samples([none, not_scored("no statement")]) == none
    assert _average_samples([Score(0.5, "a"), Score(0.5, "a")]) == Score(0.5, "a")


def test_a_sample_without_a_verdict_fails_its_question():
    failed = Score(None, "unreadable", "metric_failed")

    assert _average_samples([Score(1.0), failed, failed]) == Score(
        None, "2 of 3 samples: unreadable", "metric_failed"
    )
    assert _average_samples([not_scored("declined"), failed]).state == "metric_failed"
    assert _average_samples([failed, failed]) == failed
