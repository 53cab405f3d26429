"""A judge that is gone ends what asks it; one that is heard again loses no prompt."""

from itertools import count

import pytest

from harness.cache.folders import Cache
from harness.errors import RunError
from harness.metrics.judge import ask_for_verdicts
from harness.metrics.judge_replies import MIN_FAILURES_IN_ROW, CircuitBreaker
from harness.runs.result_tables import ScoreTable
from tests.support.judge_server import best, sitting

PROMPTS = [f"prompt {number}" for number in range(57)]


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with sitting() as made:
        yield made


def counted(allowed, failures):
    unheard = CircuitBreaker(allowed)
    for failure in failures:
        unheard.add(failure)
    return unheard


@pytest.mark.parametrize(("allowed", "most"), [(0, 19), (19.5, 19), (20, 20), (30.4, 30)])
def test_more_failures_than_allowed_and_than_19_are_too_many(allowed, most):
    assert not counted(allowed, ["503"] * most).tripped
    with pytest.raises(RunError, match=f"503\n  it failed on {most + 1} prompts in a row"):
        counted(allowed, ["503"] * (most + 1)).check()


def test_only_those_in_a_row_count():
    counted(0, [*["503"] * 19, None, *["503"] * 19]).check()


def test_a_judge_that_refuses_its_first_20_prompts_and_then_answers_judges_all_others(bench):
    arrived = count(1)
    bench.says = lambda prompt: None if next(arrived) <= MIN_FAILURES_IN_ROW else best(prompt)
    found = ask_for_verdicts(bench.judge(concurrent=4), PROMPTS, 3)

    assert sorted(found) == sorted(PROMPTS)
    assert [each.value for each in found.values()].count(None) == MIN_FAILURES_IN_ROW
    assert len(bench.asked) == len(PROMPTS)


def test_failures_are_counted_over_all_that_one_run_asks_a_judge(bench, tmp_path):
    bench.says = lambda prompt: None
    judge = bench.judge(concurrent=1)
    with Cache(tmp_path) as cache:
        scores = ScoreTable(cache)
        ask_for_verdicts(judge, PROMPTS[:12], 3, scores.replies(judge))
        with pytest.raises(RunError, match="no such judge"):
            ask_for_verdicts(judge, PROMPTS[12:], 3, scores.replies(judge))

        assert len(bench.asked) == MIN_FAILURES_IN_ROW
        ask_for_verdicts(
            judge, PROMPTS[:12], 3, ScoreTable(cache, 19).replies(judge)
        )  # of another run
