"""Where sentences end: stops, abbreviations, lists, tables, headings and scripts without spaces."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.text.sentences import find_sentences, trim

ABBREVIATIONS = ("Mr", "Mrs", "Ms", "Dr", "St", "vs", "No", "Inc", "Ltd", "etc", "e.g", "i.e", "X")


def split(text):
    return [text[start:end] for start, end in find_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("It ended (at last.) Next came 5.", ["It ended (at last.)", "Next came 5."]),
        ("Wait... What? 3 more.", ["Wait...", "What?", "3 more."]),
        ("Élan is here. Ünder too. Ça va.", ["Élan is here.", "Ünder too.", "Ça va."]),
        ("He said “Stop.” Then he left.", ["He said “Stop.”", "Then he left."]),
        ('First. "Second." (Third.)', ["First.", '"Second."', "(Third.)"]),
    ],
)
def test_a_stop_before_a_capital_or_a_digit_ends_a_sentence(text, expected):
    assert split(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "It costs 3.50 a month.",
        "See config.yaml for more.",
        "Use e.g. Phobos.",
        "That is, i.e. Deimos.",
        "Dr. Smith and Mrs. Jones met Mr. Brown.",
        "Insurellm Inc. Dublin v. Acme Ltd. London.".replace(" v. ", " vs. "),
        "Call J. R. Hartley.",
        "Policy No. 17 holds.",
        "St. Albans has one.",
        "it ended. but not really",
        "www.example.com/A.B",
    ],
)
def test_a_stop_that_ends_no_sentence_does_not_cut(text):
    assert split(text) == [text]


@pytest.mark.parametrize("word", ABBREVIATIONS)
def test_the_stop_of_an_abbreviation_or_an_initial_does_not_cut(word):
    assert split(f"Here is {word}. Moon too. End") == [f"Here is {word}. Moon too.", "End"]
    assert split(f"Here is un{word}ly. Moon too.") == [f"Here is un{word}ly.", "Moon too."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("चाँद दूर है। वहाँ हवा नहीं है॥ क्या?", ["चाँद दूर है।", "वहाँ हवा नहीं है॥", "क्या?"]),
        ("أين القمر؟ هو بعيد. نعم", ["أين القمر؟", "هو بعيد.", "نعم"]),
        ("「月は遠い。」と言った！？はい", ["「月は遠い。」", "と言った！？", "はい"]),
        ("他说：“远。”然后走了。", ["他说：“远。”", "然后走了。"]),
    ],
)
def test_the_stops_of_other_scripts_end_a_sentence_with_the_quotes_behind_them(text, expected):
    assert split(text) == expected


def test_a_blank_line_ends_a_sentence_and_a_line_feed_alone_does_not():
    assert split("one\ntwo\n\nthree\n \t\nfour") == ["one\ntwo", "three", "four"]


@pytest.mark.parametrize("mark", ["-", "*", "+", "1.", "12)", ">"])
def test_each_list_item_and_quote_starts_a_sentence_with_its_mark(mark):
    text = f"Colours:\n{mark} Red\n  {mark} dark red\n{mark} Blue. Or not."
    assert split(text) == [
        "Colours:",
        f"{mark} Red",
        f"{mark} dark red",
        f"{mark} Blue.",
        "Or not.",
    ]


def test_a_number_at_the_start_of_a_line_is_no_item_when_it_is_a_year():
    assert split("It began in\n1999. Then it grew.") == ["It began in\n1999.", "Then it grew."]


def test_a_row_of_a_table_is_one_sentence_whatever_its_cells_say():
    text = (
        "Cover:\n| What | Limit |\n|---|---|\n| 1. Rings. Watches! | No. 5. Up to 9 |\nAfter. End."
    )
    assert split(text) == [
        "Cover:",
        "| What | Limit |",
        "|---|---|",
        "| 1. Rings. Watches! | No. 5. Up to 9 |",
        "After.",
        "End.",
    ]
    assert split("a | b |\nc | d |") == ["a | b |", "c | d |"]


def test_a_heading_is_one_sentence_and_ends_with_its_line():
    assert split("# 1. Moon? Yes\nNo air. Far\n## Size\n\nSmall") == [
        "# 1. Moon? Yes",
        "No air.",
        "Far",
        "## Size",
        "Small",
    ]


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.text(alphabet='aA9 .!?"(\n|#-。\u3000\u0301', max_size=50))
def test_sentences_are_in_order_apart_and_lose_no_visible_character(text):
    spans = list(find_sentences(text))
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert all(trim(text, start, end) == (start, end) and start < end for start, end in spans)
    kept = {at for start, end in spans for at in range(start, end)}
    assert kept >= {at for at, char in enumerate(text) if not char.isspace()}


def test_a_long_run_of_empty_lines_is_read_in_one_pass():
    start = time.perf_counter()
    assert split("One." + "\n" * 100_000 + "Two.") == ["One.", "Two."]
    assert time.perf_counter() - start < 2.0
