"""Answers as labels: which of them cannot say which chunk is relevant."""

import pytest

from harness.ranking.relevance import Relevance
from harness.records import Chunk, Question, Span


class Chunks(list):
    """The chunks of an index."""

    def in_document(self, doc):
        return [chunk for chunk in self if chunk.span.doc == doc]


def chunks(*texts):
    """Return one chunk a text."""
    return Chunks(
        Chunk(number, Span("doc", 100 * number, 100 * number + len(text)), text)
        for number, text in enumerate(texts)
    )


@pytest.mark.parametrize("answer", ["yes", "No."])
def test_yes_and_no_are_no_labels(answer):
    judge = Relevance(chunks("Yes, it is.", "No."))

    assert judge.why_no_label(answer) == "yes or no"
    assert judge.judge(Question("q", "?", (answer,)), (), ["answer"]) == {}


@pytest.mark.parametrize(
    ("holding", "total", "useless"), [(20, 20, False), (21, 420, False), (21, 419, True)]
)
def test_an_answer_in_over_twenty_chunks_and_a_twentieth_of_them_is_no_label(
    holding, total, useless
):
    judge = Relevance(chunks(*["It costs 6 dollars."] * holding, *["Free."] * (total - holding)))
    grades = judge.relevant_grades("answer", Question("q", "?", ("6 dollars",)))

    assert (grades is None) == useless
    assert judge.why_no_label("6 dollars") == ("in over 5 % of the chunks" if useless else "")


def test_of_several_answers_those_that_say_something_are_the_label():
    judge = Relevance(chunks("It costs 6 dollars.", "Six."), absent={"half a dozen"})
    question = Question("q", "?", ("yes", "half a dozen", "6 dollars", "seven"))

    assert judge.relevant_grades("answer", question) == {0: 1}
    assert judge.why_no_label("half a dozen") == "nowhere in the corpus"
    assert judge.why_no_label("seven") == ""  # the chunker cut it apart: that loss is scored
