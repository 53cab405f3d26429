"""Headings of a Markdown text, and which of them a place stands under."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.chunkers import chunkers
from harness.corpus import Corpus, chunk_set
from harness.records import Document
from harness.text.headings import (
    MarkdownHeading,
    find_headings,
    heading_trails,
    headings_above,
    is_heading,
)

TEXT = """# Bikes

Free.

## Fares ##

Six dollars.

### Month

Forty.

```
# not a heading
```

## Rules
Helmets.
"""


def place(words):
    return TEXT.index(words)


def test_headings_have_their_place_level_and_words_and_code_has_none():
    assert list(find_headings(TEXT)) == [
        MarkdownHeading(0, 1, "Bikes"),
        MarkdownHeading(place("## Fares"), 2, "Fares"),
        MarkdownHeading(place("### Month"), 3, "Month"),
        MarkdownHeading(place("## Rules"), 2, "Rules"),
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("# Bikes", []),
        ("Free", ["Bikes"]),
        ("Six", ["Bikes", "Fares"]),
        ("Forty", ["Bikes", "Fares", "Month"]),
        ("# not", ["Bikes", "Fares", "Month"]),
        ("## Rules", ["Bikes", "Fares", "Month"]),
        ("Helmets", ["Bikes", "Rules"]),
    ],
)
def test_a_place_stands_under_the_last_heading_of_each_level_before_it(words, expected):
    assert headings_above(heading_trails(TEXT), place(words)) == expected


def embedded(spec, folder):
    """Return what is embedded of each chunk and what is scored of it."""
    corpus = Corpus({"b.md": Document("b.md", TEXT, "Bikes")}, "id")
    chunker = chunkers.build(spec)
    chunk_set.save(folder, corpus, chunker)
    found = chunk_set.load(folder, "id", corpus, chunker)
    return {chunk.text: chunk.indexed_text for chunk in found}


def test_a_header_of_headings_names_title_and_headings_once_each_and_is_not_scored(tmp_path):
    found = embedded({"fixed": {"size": 30, "header": True}}, tmp_path)

    for text, indexed in found.items():
        names = ["Bikes", *headings_above(heading_trails(TEXT), TEXT.index(text))]
        assert indexed == " > ".join(dict.fromkeys(names)) + " " + text
    assert [indexed.split("\n")[0] for indexed in found.values()] == [
        "Bikes # Bikes",
        "Bikes > Fares ix dollars.",
        "Bikes > Fares > Month ",
        "Bikes > Rules Rules",
    ]


BEFORE = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$", re.MULTILINE)
"""The grammar in one pattern: right, and as slow as the square of a line's length."""


@settings(max_examples=500, deadline=None)
@given(st.text("## \tab\n\u00a0", max_size=30))
def test_any_text_has_the_headings_of_the_grammar(text):
    expected = [
        MarkdownHeading(found.start(), len(found[1]), (found[2] or "").strip())
        for found in BEFORE.finditer(text)
    ]

    assert list(find_headings(text)) == expected
    assert is_heading(text) == (BEFORE.fullmatch(text) is not None)


@pytest.mark.parametrize(
    "line", ["# a" + " " * 100_000 + "b", "# a" + " #" * 50_000 + "b", "#" * 100_000, "# " * 50_000]
)
def test_a_long_line_takes_no_time(line):
    start = time.perf_counter()
    found = [each.text for each in find_headings(line)]

    assert time.perf_counter() - start < 2
    assert len(found) == line.startswith("# ")
