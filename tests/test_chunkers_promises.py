"""What the chunkers by token, meaning, markup, code and page promise for any text."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.chunkers import chunkers
from harness.registry import label

SPECS = [
    {"token": {"size": 3}},
    {"token": {"size": 4, "overlap": 3}},
    {"semantic": {"embedder": "hashing", "percentile": 50}},
    {"semantic": {"embedder": "hashing", "percentile": 80, "buffer": 0, "size": 9}},
    {"cluster_semantic": {"embedder": "hashing", "size": 6, "piece": 2}},
    {"cluster_semantic": {"embedder": "hashing", "size": 3, "piece": 3}},
    {"html": {"size": 20, "depth": 2}},
    {"html": {"size": 1}},
    {"code": {"size": 12}},
    {"code": {"size": 12, "language": "markdown"}},
    {"page": {"size": 10}},
]
PIECES = st.sampled_from(
    [
        *("\n", "\n\n", " ", "\t", "\f", "\x1c", "\u2028", "\u3000", "\x00", "\u200b"),
        *(". ", "! ", "。", "Dr. ", "Aa", "bb", "9", "\u0301", "\U00010000", "\U0010ffff", "月"),
        *("<p>", "</p>", "<h1>", "</h1>", "<h2 a='", '"', "'", ">", "<", "</", "<div>", "</div>"),
        *("<!--", "-->", "<![@]>", "<script>", "</script", "<br/>", "<td>", "<table>", "&amp;"),
        *("\ndef f", "\nclass A:", "\n@x", "\n# c", "    return", "\n---\n", "```\n"),
    ]
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=40).map("".join))


@pytest.mark.parametrize("spec", SPECS, ids=str)
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(text=TEXTS)
def test_spans_are_ordered_and_inside_and_keep_every_visible_character(spec, text):
    spans = list(chunkers.build(spec).split(text))

    assert spans == list(chunkers.build(spec).split(text))
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    assert spans == sorted(set(spans))
    covered = {at for start, end in spans for at in range(start, end)}
    assert {at for at, char in enumerate(text) if not char.isspace()} <= covered
    if "overlap" not in str(spec):
        assert all(a[1] <= b[0] for a, b in pairwise(spans))


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("text", ["", " ", "\n \t\f\n", "\u3000\u2028"])
def test_a_text_without_visible_characters_has_no_chunk(spec, text):
    assert list(chunkers.build(spec).split(text)) == []


@pytest.mark.parametrize(
    "spec",
    [
        "token(size=64, overlap=8, tokenizer=my/model)",
        "semantic(embedder=sentence_transformer(model=my/model, runtime=torch), size=900)",
        "cluster_semantic(embedder=hashing(dimensions=64), piece=20)",
        "html(size=500, depth=2)",
        "code(language=go)",
        "page(size=900)",
    ],
)
def test_a_label_says_all_that_was_set_and_reads_back(spec):
    assert label(chunkers.build(spec)) == spec
    assert chunkers.build(label(chunkers.build(spec))) == chunkers.build(spec)
