"""The chunkers `fixed` and `whole`, and what parameters are refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.chunkers import chunkers
from harness.errors import SpecError

SPECS = [
    {"fixed": {"size": 7}},
    {"fixed": {"size": 7, "overlap": 3}},
    {"whole": {}},
    {"sentence": {"size": 12}},
    {"sentence": {"size": 12, "overlap": 2}},
    {"markdown": {"size": 20, "depth": 2}},
    {"recursive": {"size": 9, "overlap": 0}},
    {"recursive": {"size": 9, "overlap": 4}},
    {"recursive": {"size": 3, "overlap": 1, "unit": "tokens"}},
]


# Any Unicode text, made of what the chunkers look for: white space, stops, headings, fences, rows.
PIECES = st.sampled_from(
    [
        *("\n", "\n\n", " ", "\t", "\x1c", "\u2028", "\u3000"),
        *("# ", "## ", "```\n", "| a |\n", "- ", "1) "),
        *(". ", "! ", "。", "Dr. ", "e.g. ", "Aa", "bb", "9", "\u0301", "\U00010000", "\U0010ffff"),
    ]
)


TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=40).map("".join))


def visible(text):
    return [at for at, char in enumerate(text) if not char.isspace()]


@pytest.mark.parametrize("spec", SPECS, ids=str)
@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(text=TEXTS)
def test_spans_are_ordered_and_inside_and_keep_every_visible_character(spec, text):
    spans = list(chunkers.build(spec).split(text))
    assert spans == list(chunkers.build(spec).split(text))
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(text[start:end].strip() for start, end in spans)
    assert spans == sorted(spans)
    covered = {at for start, end in spans for at in range(start, end)}
    assert set(visible(text)) <= covered


def test_fixed_cuts_windows_of_its_size_that_share_the_overlap():
    assert list(chunkers.build({"fixed": {"size": 4}}).split("abcdefghij")) == [
        (0, 4),
        (4, 8),
        (8, 10),
    ]
    assert list(chunkers.build({"fixed": {"size": 4, "overlap": 1}}).split("abcdefghij")) == [
        (0, 4),
        (3, 7),
        (6, 10),
    ]


def test_fixed_keeps_the_white_space_inside_a_window_and_drops_a_window_of_it_alone():
    text = "ab  " + "    " + " cd "
    assert list(chunkers.build({"fixed": {"size": 4}}).split(text)) == [(0, 4), (8, 12)]


def test_whole_is_one_chunk_of_the_text_as_it_is():
    text = "\n Title\n\nBody.\n"
    assert list(chunkers.build("whole").split(text)) == [(0, len(text))]


@pytest.mark.parametrize("name", ["fixed", "recursive"])
def test_an_overlap_that_is_not_smaller_than_the_size_is_refused_with_both_numbers(name):
    with pytest.raises(SpecError) as raised:
        chunkers.build({name: {"size": 200, "overlap": 200}})
    assert str(raised.value) == (f"chunker {name!r}: overlap (200) must be smaller than size (200)")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"fixed": {"size": 0}}, "size: Input should be greater than 0, not 0"),
        ({"sentence": {"overlap": -1}}, "overlap: Input should be greater than or equal to 0"),
        ({"markdown": {"depth": 7}}, "depth: Input should be less than or equal to 6, not 7"),
        ({"recursive": {"tokenizer": "x"}}, "tokenizer has a meaning only with unit: tokens"),
        (
            {"whole": {"header": "name"}},
            "header: Input should be 'none', 'title' or 'headings', not 'name'",
        ),
    ],
)
def test_a_parameter_out_of_range_is_refused_with_its_name_and_value(spec, told):
    with pytest.raises(SpecError) as raised:
        chunkers.build(spec)
    assert told in str(raised.value)
