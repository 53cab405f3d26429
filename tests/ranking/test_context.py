"""Context: what of a ranking reaches the generator under its two bounds."""

import pytest

from harness.ranking.context import assemble_context, cut_hits, join_parts
from harness.records import Chunk, Hit, Span
from harness.text.words import count


def hits(*texts):
    return [
        Hit(Chunk(at, Span("doc", at, at + 1), text, header="Title"), 1.0)
        for at, text in enumerate(texts)
    ]


THREE = hits("One two three.", "Four, five!", "Six seven eight nine")
"""Of 4, 4 and 4 tokens."""


def test_the_first_chunks_are_joined_in_order_by_an_empty_line():
    assert assemble_context(THREE, 2, 100) == "One two three.\n\nFour, five!"
    assert (
        assemble_context(THREE, 9, 100) == "One two three.\n\nFour, five!\n\nSix seven eight nine"
    )


def test_the_last_chunk_is_cut_where_the_budget_is_spent():
    assert assemble_context(THREE, 3, 12) == "One two three.\n\nFour, five!\n\nSix seven eight nine"
    assert assemble_context(THREE, 3, 11) == "One two three.\n\nFour, five!\n\nSix seven eight"
    assert assemble_context(THREE, 3, 9) == "One two three.\n\nFour, five!\n\nSix"
    assert assemble_context(THREE, 3, 6) == "One two three.\n\nFour,"


@pytest.mark.parametrize(
    ("budget", "expected"), [(1, "One"), (3, "One two three"), (4, "One two three.")]
)
def test_the_first_chunk_is_cut_and_never_dropped(budget, expected):
    assert assemble_context(THREE, 3, budget) == expected


@pytest.mark.parametrize("budget", range(1, 14))
def test_a_context_never_has_more_tokens_than_its_budget_and_uses_all_it_can(budget):
    assert count(assemble_context(THREE, 3, budget)) == min(budget, 12)


def test_what_reaches_the_generator_is_told_with_its_place():
    texts = ["One two three.", "Four, five!"]
    found = [Hit(Chunk(at, Span("doc", 100 * at, 0), text), 1.0) for at, text in enumerate(texts)]

    assert cut_hits(found, 2, 6) == [
        (Span("doc", 0, 14), "One two three."),
        (Span("doc", 100, 105), "Four,"),
    ]
    assert join_parts(cut_hits(found, 2, 6)) == assemble_context(found, 2, 6)


def test_nothing_retrieved_is_an_empty_context():
    assert assemble_context([], 5, 1500) == ""


def test_a_header_is_not_part_of_the_context_and_white_space_inside_a_chunk_is_kept():
    assert assemble_context(hits("a\n\n  b ", "c"), 2, 9) == "a\n\n  b \n\nc"
