"""Chunks of a corpus: read from offsets, and back from disk."""

import pytest

from harness.chunkers import chunkers
from harness.corpus import Corpus, chunk_set
from harness.records import Chunk, Document, Span

LONG = (
    "The moon is far away. It has no air.\n\n## Mars\n\nMars has two moons — Phobos, Deimos.\n" * 9
)


DOCUMENTS = [
    Document("z.md", "# Moon\n\nThe moon is far. ünïcödé 月は遠い。", "Moon"),
    Document("empty first", "", "Nothing"),
    Document("blank", " \n\t\n", ""),
    Document("a.md", LONG, "The planets"),
    Document("empty last", "", ""),
]


CORPUS = Corpus({each.id: each for each in DOCUMENTS}, "planets")


SPECS = [
    "markdown",
    "sentence",
    "fixed(size=9)",
    "whole(header=title)",
    "recursive(size=40, overlap=8)",
]


def plain(chunker):
    """Return the chunks as the chunker cuts each document, numbered throughout."""
    found = []
    titled = getattr(chunker, "header", "none") == "title"
    for document in DOCUMENTS:
        for start, end in chunker.split(document.text):
            span, text = Span(document.id, start, end), document.text[start:end]
            found.append(Chunk(len(found), span, text, document.title if titled else ""))
    return found


def chunks(chunker, folder, corpus=CORPUS):
    chunk_set.save(folder, corpus, chunker)
    return chunk_set.load(folder, "id", corpus, chunker)


@pytest.mark.parametrize("spec", SPECS)
class TestEveryChunker:
    def test_its_chunks_are_those_of_a_plain_cut_one_by_one_and_all_together(self, spec, tmp_path):
        chunker = chunkers.build(spec)
        found, expected = chunks(chunker, tmp_path), plain(chunker)

        assert len(found) == len(expected) > 1
        assert list(found) == list(found) == expected
        backwards = range(len(found) - 1, -1, -1)
        assert [found[at] for at in backwards] == expected[::-1]

    def test_those_of_a_document_are_all_of_it_and_of_no_other(self, spec, tmp_path):
        chunker = chunkers.build(spec)
        found, expected = chunks(chunker, tmp_path), plain(chunker)

        for document in DOCUMENTS:
            its = [each for each in expected if each.span.doc == document.id]
            assert found.in_document(document.id) == its
            assert bool(its) == (document.id in ("z.md", "a.md"))
        assert found.in_document("no such document") == []


@pytest.mark.parametrize("spec", ["whole", "whole(header=title)"])
def test_a_chunk_has_its_documents_title_for_a_header_where_that_was_asked_for(spec, tmp_path):
    found = chunks(chunkers.build(spec), tmp_path)

    headers = ["Moon", "The planets"] if "title" in spec else ["", ""]
    assert [chunk.header for chunk in found] == headers
    assert all("planets" not in chunk.text for chunk in found)


def test_it_is_read_back_in_another_process_as_it_was_written(tmp_path):
    chunker = chunkers.build("sentence")
    before = list(chunks(chunker, tmp_path))

    again = chunk_set.load(tmp_path, "id", CORPUS, chunker)
    assert (again.id, list(again)) == ("id", before)


def test_a_corpus_without_a_chunk_has_none(tmp_path):
    corpus = Corpus({"blank": Document("blank", " \n")}, "blank")
    found = chunks(chunkers.build("sentence"), tmp_path, corpus)

    assert (len(found), list(found), found.in_document("blank")) == (0, [], [])
