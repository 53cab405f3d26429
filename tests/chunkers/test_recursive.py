"""The chunker `recursive`: LangChain's splitter, with offsets."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_text_splitters import RecursiveCharacterTextSplitter

from harness.chunkers import chunkers
from harness.errors import SpecError
from harness.models.model_files import DEFAULT_MODEL, locate

CORPUS = Path(__file__).parent.parent.parent / "corpora" / "insurellm"


DOCUMENTS = sorted(CORPUS.rglob("*.md"))


SECTION = 1_048_576


"""How many code points there are above the basic plane: a longer text is cut there first."""


def build(**parameters):
    return chunkers.build({"recursive": parameters})


def langchain(text, size, overlap, length=len):
    return RecursiveCharacterTextSplitter(
        chunk_size=size,
        chunk_overlap=overlap,
        length_function=length,
        keep_separator="start",
        strip_whitespace=True,
    ).split_text(text)


def texts(text, **parameters):
    return [text[start:end] for start, end in build(**parameters).split(text)]


@pytest.mark.parametrize(("size", "overlap"), [(800, 100), (200, 50), (64, 0), (50, 49)])
def test_every_document_of_the_corpus_is_cut_as_langchain_cuts_it(size, overlap):
    assert len(DOCUMENTS) >= 50
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        assert texts(text, size=size, overlap=overlap) == langchain(text, size, overlap), path.name


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(
    text=st.one_of(st.text(max_size=80), st.text(alphabet="ab \n\t.\u0301\U00010000", max_size=80)),
    size=st.integers(2, 12),
    overlap=st.integers(0, 1),
)
def test_any_unicode_text_is_cut_as_langchain_cuts_it(text, size, overlap):
    assert texts(text, size=size, overlap=overlap) == langchain(text, size, overlap)


def test_a_repeated_text_is_found_at_each_of_its_own_places():
    text = "the cat. " * 500
    spans = list(build(size=50, overlap=20).split(text))
    assert [text[start:end] for start, end in spans] == langchain(text, 50, 20)
    assert len({text[start:end] for start, end in spans}) < 5 < len(spans)
    starts = [start for start, _ in spans]
    assert spans[:3] == [(0, 48), (31, 80), (63, 111)]
    assert starts == sorted(set(starts))
    assert spans[-1][1] == len(text.rstrip())


def test_a_text_over_the_section_boundary_is_cut_in_full_at_its_own_offsets():
    words = "alpha beta gamma delta epsilon "
    text = "\n\n".join(f"{words * 11}{number}." for number in range(3200))
    assert len(text) > SECTION + 50_000
    spans = list(build(size=2000, overlap=0).split(text))
    whole = langchain(text, 2000, 0)
    before = [text[start:end] for start, end in spans if end < SECTION - 2000]
    assert before == whole[: len(before)]
    assert len(before) > 550
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    assert max(end - start for start, end in spans) <= 2000
    gaps = [text[a[1] : b[0]] for a, b in pairwise(spans)]
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    assert "".join(gaps).strip() == ""
    behind = [text[start:end] for start, end in spans if start >= SECTION]
    assert re.findall(r"\d+", " ".join(behind))[-2:] == ["3198", "3199"]


@pytest.mark.slow
def test_with_unit_tokens_chunks_are_counted_in_the_models_own_tokens():
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(locate(DEFAULT_MODEL) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(piece):
        return len(tokenizer.encode(piece, add_special_tokens=False).ids)

    assert count("Insurellm") > 1
    for path in DOCUMENTS[:8]:
        text = path.read_text(encoding="utf-8")
        found = texts(text, size=64, overlap=16, unit="tokens", tokenizer=DEFAULT_MODEL)
        assert found == langchain(text, 64, 16, count), path.name
        sizes = [count(each) for each in found]
        assert max(sizes) <= 64
        assert len(sizes) < 3 or max(sizes) > 48


def pieces(name, text, **parameters):
    return [text[start:end] for start, end in chunkers.build({name: parameters}).split(text)]


class TestSeparators:
    def test_a_text_is_cut_at_the_first_separator_that_it_has(self):
        text = "One is. Two is; three is. Four is."

        assert pieces("recursive", text, size=18, overlap=0, separators=[". ", "; ", ""]) == [
            "One is",
            ". Two is; three is",
            ". Four is.",
        ]

    def test_what_repeats_is_found_where_it_stands(self):
        text = "a|a|a|b|a"
        found = chunkers.build({"recursive": {"size": 3, "overlap": 0, "separators": ["|"]}})

        assert list(found.split(text)) == [(0, 3), (3, 5), (5, 7), (7, 9)]

    @pytest.mark.parametrize("separators", [[], ["\U0001f680"]])
    def test_none_and_those_of_upper_planes_are_refused(self, separators):
        with pytest.raises(SpecError, match="separators: at least one is needed"):
            chunkers.build({"recursive": {"separators": separators}})
