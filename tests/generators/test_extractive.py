"""The generator `extractive`: answers in the context's own sentences."""

import pytest

from harness.generators import generators

CONTEXT = (
    "# Claims\n\nA claim is paid within 30 days. Excess: a claim under 50 pounds is not paid.\n\n"
    "## Refunds\n\n- A refund takes ten days\n- Cancelled policies earn a refund\n\n"
    "| Product | Price |\n|---|---|\n| HomeProtect | 12.50 a month |\n"
)


def answer(question, context=CONTEXT, **parameters):
    return generators.build({"extractive": parameters}).answer(question, context)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When is a claim paid?", "A claim is paid within 30 days."),
        ("Is a claim under 50 pounds paid?", "Excess: a claim under 50 pounds is not paid."),
        ("What is the price of HomeProtect?", "| Product | Price |"),
        ("HomeProtect a month?", "| HomeProtect | 12.50 a month |"),
    ],
)
def test_the_answer_is_the_sentence_that_shares_most_with_the_question(question, expected):
    found = answer(question)
    assert (found.text, found.declined, found.finish) == (expected, False, "stop")
    assert expected in CONTEXT


def test_endings_and_letter_case_do_not_matter():
    assert answer("CANCELLING POLICY earned?").text == "Cancelled policies earn a refund"


def test_the_mark_of_a_list_item_is_left_out_and_its_words_are_the_contexts():
    assert answer("How long does a refund take?").text == "A refund takes ten days"
    context = "Steps:\n1. Report the theft.\n2) Send a photo\n* Wait a week\n> Quoted rule"
    for question, expected in [
        ("report theft", "Report the theft."),
        ("send photo", "Send a photo"),
        ("wait week", "Wait a week"),
        ("quoted rule", "Quoted rule"),
    ]:
        assert answer(question, context).text == expected
        assert expected in context


def test_several_sentences_come_in_their_order_in_the_context():
    question = "Is a claim under 50 pounds paid in days?"
    assert answer(question).text == "Excess: a claim under 50 pounds is not paid."
    found = answer(question, sentences=2)
    assert found.text == (
        "A claim is paid within 30 days. Excess: a claim under 50 pounds is not paid."
    )


def test_of_two_sentences_that_share_as_much_the_earlier_one_answers():
    assert answer("blue", "The sky is blue. The sea is blue.").text == "The sky is blue."


@pytest.mark.parametrize(
    ("question", "context"),
    [
        ("When is a claim paid?", ""),
        ("When is a claim paid?", " \n"),
        ("Who wrote Hamlet?", CONTEXT),
        ("What is it?", CONTEXT),
        ("", CONTEXT),
        ("When is a claim paid?", "# Claim paid"),
    ],
)
def test_it_declines_without_a_context_and_without_a_shared_word(question, context):
    found = answer(question, context)
    assert (found.text, found.declined, found.finish, found.tokens_out) == ("", True, "declined", 0)
    assert answer(question, context, threshold=0).declined


def test_it_declines_under_the_threshold_and_answers_at_it():
    # Two of the four words alpha, beta, gamma, delta are in the first sentence: a share of 0.5.
    question, context = "alpha beta gamma delta?", "Beta comes behind alpha. Gamma is third."
    assert answer(question, context, threshold=0.5).text == "Beta comes behind alpha."
    assert answer(question, context, threshold=0.51).declined
    assert answer(question + " epsilon", context, threshold=0.5).declined


def test_tokens_are_those_of_the_context_and_of_the_answer():
    found = answer("What is blue?", "The sky is blue, mostly. Grass is not.")
    assert (found.text, found.tokens_in, found.tokens_out) == ("The sky is blue, mostly.", 11, 7)
    assert found.model is None
