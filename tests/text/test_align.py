"""Matching: where in a corpus a text stands that somebody else cut out of it."""

import random
import time

import pytest

from harness.records import Document, Span
from harness.text.align import CorpusMatcher, Match

MOON = (
    "# Moon\n\nThe Moon has no air and no weather.\nIt is 384,400 km away on average.\n\n"
    "Its far side was first seen in 1959, by Luna 3.\n"
)
MARS = "# Mars\n\nMars has two moons, Phobos and Deimos. A day there is 24.6 hours long.\n"
BOILER = "\nAll figures are rounded, and come from the almanac of the year 2020.\n"


def documents(**texts):
    return {name: Document(name, text) for name, text in texts.items()}


def corpus():
    return {"a/moon.md": Document("a/moon.md", MOON), "b/mars.md": Document("b/mars.md", MARS)}


def found(text, texts, **told):
    """Return the document, the text at the place, and how it was found there."""
    at = CorpusMatcher(texts).find(text, **told)
    return at and (at.span.doc, texts[at.span.doc].text[at.span.start : at.span.end], at.how)


@pytest.mark.parametrize(
    ("text", "there", "how"),
    [
        ("The Moon has no air and no weather.", None, "exact"),
        ("  The Moon has no air and no weather.\n", "The Moon has no air and no weather.", "exact"),
        ("The Moon has no air and no weather.\r\nIt is 384,400 km away", None, "exact"),
        ("the moon has NO air  and no\n\nweather. It is 384,400 km", None, "spacing"),
        ("The Moon has no air and n0 weather. It is 384,400 km away", None, "fuzzy"),
    ],
    ids=["to the letter", "its ends", "line ends", "spacing", "one letter"],
)
def test_a_text_is_found_by_the_strictest_way_that_finds_it(text, there, how):
    doc, said, found_how = found(text, corpus())

    assert (doc, found_how) == ("a/moon.md", how)
    wanted = "The Moon has no air and no weather.\nIt is 384,400 km away"
    assert said == (there or wanted[: len(said)])
    assert len(said) > 30


def test_the_form_that_a_letter_is_written_in_makes_no_difference():
    texts = documents(d="Caf\u00e9 au lait is served from seven until noon, every day but Sunday.")
    decomposed = "Cafe\u0301 au lait is served from seven until noon"

    assert found(decomposed, texts) == (
        "d",
        "Caf\u00e9 au lait is served from seven until noon",
        "exact",
    )


def test_of_several_places_that_in_the_named_document_counts_and_else_the_first():
    texts = documents(one="One." + BOILER, two="Two." + BOILER, three="Three." + BOILER)
    said = BOILER.strip()

    assert found(said, texts) == ("one", said, "exact")
    assert found(said, texts, doc="three") == ("three", said, "exact")
    assert found(said, texts, doc="elsewhere") == ("one", said, "exact")


def test_a_text_that_is_too_short_for_the_index_is_found_to_the_letter_anywhere():
    assert found("24.6 hours", corpus()) == ("b/mars.md", "24.6 hours", "exact")
    assert found("24.6  HOURS", corpus()) is None
    assert found("24.6  HOURS", corpus(), doc="b/mars.md") == ("b/mars.md", "24.6 hours", "spacing")


def test_a_text_with_a_title_put_in_front_of_it_is_found_nearly():
    long = (
        "The harbour station has 24 docks. It opened in May 2019, and was widened twice since. " * 3
    )
    texts = documents(stations=f"# Stations\n\n{long}\n", other=MOON)
    doc, said, how = found(f"Stations: {long}", texts)

    assert (doc, how) == ("stations", "fuzzy")
    assert long.strip()[20:] in said


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("a/moon.md", "a/moon.md"),
        ("/data/corpus/a/moon.md", "a/moon.md"),
        ("C:\\corpus\\a\\moon.md", "a/moon.md"),
        ("https://example.org/docs/b/mars.md", "b/mars.md"),
        ("mars.md", "b/mars.md"),
        ("mars", "b/mars.md"),
        ("other/mars.pdf", "b/mars.md"),
        ("index.md", None),
        ("index", None),
        ("c/index.md", "c/index.md"),
        ("pluto.md", None),
        ("", None),
        ("/", None),
        ("\x00", None),
    ],
)
def test_a_document_goes_by_its_id_a_path_to_it_or_a_file_name_that_is_clear(name, document):
    more = documents(**{"c/index.md": "c", "d/index.md": "d"})

    assert CorpusMatcher({**corpus(), **more}).find_document(name) == document


def test_a_text_that_was_joined_of_several_is_taken_apart():
    matcher = CorpusMatcher(corpus())
    one, two = "The Moon has no air and no weather.", "Mars has two moons, Phobos and Deimos."
    far = "Its far side was first seen in 1959, by Luna 3."
    parts = matcher.find_parts(f"{one}\n\n---\n\n{two}\n\nMade up by nobody knows whom.\n\n{far}")

    places = [each if isinstance(each, str) else matcher.text(each.span) for each in parts]
    assert places == [one, two, "Made up by nobody knows whom.", far]
    assert parts[1] == Match(Span("b/mars.md", 8, 46), "exact")


def test_parts_that_are_neighbours_in_their_document_are_one_place():
    matcher = CorpusMatcher(corpus())
    joined = "It is 384,400 km away on average.\n\n\n\n***\nits FAR side was first seen in 1959"

    assert [matcher.text(each.span) for each in matcher.find_parts(joined)] == [
        "It is 384,400 km away on average.\n\nIts far side was first seen in 1959"
    ]
    assert matcher.find_parts(joined)[0].how == "spacing"


def test_every_stretch_of_31_visible_characters_finds_its_document():
    rng = random.Random(1)
    letters = "abcdefgh \n"
    texts = documents(**{f"d{n}": "".join(rng.choices(letters, k=400)) for n in range(30)})
    matcher = CorpusMatcher(texts)
    for id_, document in texts.items():
        start = rng.randrange(300)
        end = start + 31
        while len("".join(document.text[start:end].split())) < 31:
            end += 1
        part = document.text[start:end].strip()
        at = matcher.find(part)
        assert at is not None
        assert (at.span.doc, matcher.text(at.span), at.how) == (id_, part, "exact")


def test_a_corpus_of_thousands_is_not_read_for_each_text():
    rng = random.Random(2)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 9))) for _ in range(5000)]
    texts = documents(**{f"d{n}": " ".join(rng.choices(words, k=120)) for n in range(3000)})
    matcher = CorpusMatcher(texts)
    matcher.find(texts["d0"].text[:200])
    start = time.perf_counter()
    for n in range(200):
        text = texts[f"d{n * 7}"].text
        changed = text[100:200] + "#" + text[201:400]
        at = matcher.find(changed)
        assert at is not None
        assert (at.span.doc, at.how) == (f"d{n * 7}", "fuzzy")

    assert time.perf_counter() - start < 4  # 20 ms each on a busy machine; a reading takes longer
