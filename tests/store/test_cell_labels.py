"""Short labels of cells: what they leave out, and what is understood where a cell is named."""

import pytest

from harness.errors import HarnessError
from harness.store.cell_labels import AXES, find_cell, find_cells, short_labels


def cells(*rows):
    parts = [dict(zip(AXES, row, strict=True)) for row in rows]
    return {" × ".join(p for p in row.values() if p and p != "none"): row for row in parts}


GRID = cells(
    *(
        (chunker, embedder, retriever, "none", "chat(model=a, temperature=0)")
        for chunker in ("fixed(size=60, overlap=5)", "fixed(size=90, overlap=5)", "lines(count=3)")
        for embedder, retriever in ((None, "bm25"), ("hashing", "dense"))
    )
)


def test_a_label_leaves_out_the_components_and_parameters_that_all_cells_share():
    assert list(short_labels(GRID).values()) == [
        "fixed(size=60) × bm25",
        "fixed(size=60) × dense",
        "fixed(size=90) × bm25",
        "fixed(size=90) × dense",
        "lines × bm25",
        "lines × dense",
    ]


def test_no_reranker_is_left_out_unless_nothing_else_would_be_there():
    row = ("lines", None, "bm25")
    found = cells((*row, "none", "chat"), (*row, "cross_encoder(model=a)", "chat"))

    assert list(short_labels(found).values()) == ["none", "cross_encoder"]


def test_a_single_cell_is_called_by_its_components_without_their_parameters():
    found = cells(("fixed(size=60)", "model2vec(model=a(b), path=c)", "dense", "none", "chat"))

    assert list(short_labels(found).values()) == ["fixed × model2vec × dense × chat"]


def test_cells_that_a_label_would_not_tell_apart_keep_their_names():
    found = {"one": dict.fromkeys(AXES, "a"), "two": dict.fromkeys(AXES, "a")}

    assert short_labels(found) == {"one": "one", "two": "two"}


@pytest.mark.parametrize(
    "text",
    [
        "fixed(size=60, overlap=5) × bm25 × chat(model=a, temperature=0)",
        "fixed(size=60) × bm25",
        "fixed(size=60, overlap=5) x bm25",
        "bm25 × chat × fixed(size=60)",
    ],
)
def test_a_cell_is_understood_by_its_name_its_label_or_enough_of_its_components(text):
    assert find_cell(text, GRID, "--cell") == next(iter(GRID))


def test_what_may_be_several_cells_or_none_is_refused_with_the_choices():
    assert len(find_cells("fixed × bm25", GRID)) == 2
    with pytest.raises(HarnessError, match=r"(?s)--cell: 'bm25' may be any of 3 cells\n .*size=90"):
        find_cell("bm25", GRID, "--cell")
    with pytest.raises(HarnessError, match="--cell: no cell has the name 'splade'\n  choose from"):
        find_cell("splade", GRID, "--cell")


def test_a_label_goes_before_what_its_components_would_also_fit():
    row = ("lines", None, "bm25", "none")
    found = cells((*row, "chat"), (*row, "chat(model=a)"))

    assert find_cells("chat", found) == ["lines × bm25 × chat"]
