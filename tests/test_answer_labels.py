"""Answers as labels: those that cannot say which chunk is relevant are refused."""

import pytest

from harness import runner
from harness.config import load
from harness.errors import DataError
from tests.small import QUESTIONS, project


def prepared(folder, answers, **changes):
    rows = [{"id": "q", "question": QUESTIONS[0]["question"], "answers": answers}]
    config = project(folder, questions=rows, labels="answer", metrics=["hit_rate@2"], **changes)
    return runner.prepare(load(config, [], {}))


@pytest.mark.parametrize("answer", ["yes", "No."])
def test_yes_and_no_are_refused(tmp_path, answer):
    # Both words occur in the corpus, or the message would be another.
    document = tmp_path / "corpus" / "more.md"
    document.parent.mkdir()
    document.write_text("Yes and no.\n")

    with pytest.raises(DataError, match=r"question 'q': the answer .* cannot say which chunks"):
        prepared(tmp_path, [answer])


def test_an_answer_in_over_a_twentieth_of_the_chunks_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"the answer 'costs' stands in 2 of 9 chunks"):
        prepared(tmp_path, ["costs"], chunkers=[{"sentence": {"size": 20}}])


def test_an_answer_in_a_single_chunk_is_accepted_however_few_there_are(tmp_path):
    assert prepared(tmp_path, ["6 dollars"], chunkers=["whole"]).plan.labels == "answer"
