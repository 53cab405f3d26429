"""`parent`: small chunks are searched, and the larger ones around them handed over."""

import re

import numpy as np
import pytest

from harness import api
from harness.chunkers import chunkers
from harness.config.run_config import load
from harness.corpus.chunk_set import ChunkSet
from harness.errors import ModelError, SpecError
from harness.records import Document, Span
from harness.registry import label
from harness.runs import runner
from harness.runs.outcomes import context_text
from harness.store import reader
from tests.support.small import DOCUMENTS, project


def quiet(work, done, total):
    """Progress nobody looks at."""


def records(folder, **changes):
    config = project(folder, retrievers=["bm25"], retrieve=4, **changes)
    finished = api.run(runner.prepare(load(config, [], {})), quiet)
    return reader.load(finished.folder)


def spans(record):
    return [(hit.doc, hit.start, hit.end) for hit in record.hits]


SMALL = {"sentence": {"size": 40}}


WITHIN = {"sentence": {"size": 40, "parent": "whole"}}


def test_hits_are_the_larger_chunks_at_their_first_childs_rank_and_score(tmp_path):
    small = records(tmp_path / "small", chunkers=[SMALL])
    within = records(tmp_path / "within", chunkers=[WITHIN])

    assert len(small.records) == len(within.records) == 5
    for child, parent in zip(small.records, within.records, strict=True):
        best = {}
        for hit in child.hits:
            best.setdefault(hit.doc, hit.score)
        assert spans(parent) == [(doc, 0, len(DOCUMENTS[doc])) for doc in best]
        assert [hit.score for hit in parent.hits] == list(best.values())


def test_relevance_counts_the_larger_chunks_and_the_context_is_made_of_them(tmp_path):
    stored = records(tmp_path, chunkers=[WITHIN], metrics=["recall@2", "passage_recall@2"])
    found = {record.question: record for record in stored.records}

    assert found["day"].judged["evidence"].inventory == (1,)
    assert context_text(found["day"], stored.texts).startswith(DOCUMENTS["fares.md"])
    assert found["day"].scores["recall@2"].value == 1


def test_the_parent_is_the_chunk_that_holds_most_and_of_equals_the_first():
    documents = {"a": Document("a", "x" * 10), "b": Document("b", "y" * 40)}
    rows = [(0, 0, 20), (0, 10, 30), (0, 30, 40), (1, 0, 10)]
    chunks = ChunkSet("id", documents, np.array(rows), "none")

    assert chunks.chunk_around(Span("b", 12, 18)).index == 0
    assert chunks.chunk_around(Span("b", 12, 25)).index == 1
    assert chunks.chunk_around(Span("b", 29, 34)).index == 2
    assert chunks.chunk_around(Span("a", 0, 3)).index == 3
    with pytest.raises(LookupError):
        chunks.chunk_around(Span("c", 0, 3))


@pytest.mark.parametrize("form", ["recursive(size=900)", {"recursive": {"size": 900}}])
def test_a_parent_is_named_in_any_form_and_prints_as_it_parses(form):
    built = chunkers.build({"fixed": {"size": 100, "parent": form}})

    assert built.parent == "recursive(size=900)"
    assert chunkers.build(label(built)) == built


@pytest.mark.parametrize(
    ("parent", "said"),
    [
        ("hole", "unknown chunker 'hole'"),
        ("fixed(sise=3)", "chunker 'fixed' has no parameter 'sise'"),
        ("fixed(parent=whole)", "it cannot have a parent of its own"),
        (3, "expected a name or a mapping, found 3"),
    ],
)
def test_a_parent_that_cannot_be_is_refused(parent, said):
    with pytest.raises(SpecError, match=re.escape(said)):
        chunkers.build({"fixed": {"parent": parent}})


def test_a_parent_s_model_is_found_before_anything_is_spent(tmp_path):
    spec = {"sentence": {"size": 40, "parent": "token(tokenizer=no/such-model)"}}
    config = project(tmp_path, chunkers=[spec], retrievers=["bm25"])

    with pytest.raises(ModelError, match="no/such-model"):
        runner.check_models(runner.prepare(load(config, [], {})))
