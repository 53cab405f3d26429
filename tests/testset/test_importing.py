"""`import`: other tools' test sets in our format; what is read back is what was read."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import corpus as corpora
from harness import testset as testsets
from harness.corpus import Corpus
from harness.corpus.jsonl_documents import JsonlDocuments as Lines
from harness.records import Document, Passage, Question, Span
from harness.testset import importing
from harness.testset.jsonl_questions import Jsonl
from harness.text.words import normalise

TEXT = normalise(
    "\ufeffCafe\u0301 \ufeff on the Moon.\r\n\u2028 It is “far”, 384,400 km away. \x00\x1f end"
)
CORPUS = Corpus({"d 1": Document("d 1", TEXT), "e": Document("e", "x")}, "c")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SOME = TEXTS.filter(bool)


@st.composite
def passages(draw):
    start = draw(st.integers(0, len(TEXT) - 1))
    end = draw(st.integers(start + 1, len(TEXT)))
    return Passage(Span("d 1", start, end), TEXT[start:end], draw(SOME), draw(st.integers(1, 9)))


@st.composite
def questions(draw):
    answerable = draw(st.booleans())
    seen = passages().filter(lambda each: each.text.strip())
    return Question(
        draw(SOME),
        draw(SOME),
        tuple(map(normalise, draw(st.lists(TEXTS.filter(str.strip), max_size=2))))
        if answerable
        else (),
        tuple(draw(st.lists(seen, max_size=3))) if answerable else (),
        draw(st.none() | st.dictionaries(st.sampled_from(["d 1", "e"]), st.integers(-9, 9))),
        tuple(map(normalise, draw(st.lists(SOME, max_size=2)))),
        draw(st.none() | SOME),
        draw(st.none() | st.sampled_from(["easy", "hard"])),
        answerable,
    )


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked=st.lists(questions(), min_size=1, max_size=4, unique_by=lambda each: each.id))
def test_any_test_set_is_read_back_as_it_was(tmp_path, asked):
    path = tmp_path / "set.jsonl"
    found = importing.Imported(testsets.Testset(tuple(asked), "id"), CORPUS, {})

    importing.write(found, path, None, force=True)

    assert testsets.load(Jsonl(str(path)), CORPUS).questions == tuple(asked)


def test_a_corpus_with_what_filters_look_at_is_read_back(tmp_path):
    documents = {
        "a": Document("a", "One.\n", "A", {"year": 2024, "open": True}),
        "b": Document("b", TEXT),
    }
    found = importing.Imported(
        testsets.Testset((Question("q", "Q?"),), "id"), Corpus(documents, "c"), {}
    )

    importing.write(found, tmp_path / "set.jsonl", tmp_path / "docs.jsonl")

    assert dict(corpora.load(Lines(str(tmp_path / "docs.jsonl"))).documents) == documents


def test_published_benchmarks_survive_the_way_through_our_format(test_data, tmp_path):
    for name in ("xquad-en", "clapnq-dev"):
        found = importing.read("beir(answers=qa.jsonl)", str(test_data / name), None)
        set_, docs = importing.write(found, tmp_path / name / "s.jsonl", tmp_path / name / "docs")

        corpus = corpora.load(Lines(str(docs)))

        assert corpus.id == found.corpus.id
        assert testsets.load(Jsonl(str(set_)), corpus).id == found.testset.id
