"""Runs of many cells: what one cell needs is let go of, and of its records little is kept."""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness import api
from harness.cache.folders import Cache
from harness.config.run_config import load
from harness.metrics.named_metrics import NamedMetric, build_metric
from harness.records import AnswerSample, Failure, Score, Usage
from harness.retrievers import SearchContext, retrievers
from harness.runs import aggregate, runner
from harness.runs.aggregate import count_losses
from harness.store import expenses, reader
from tests.support.small import project

OPEN = Path("/dev/fd")
"""Where there is a name for each file that this process has open."""


@pytest.fixture(scope="module")
def six(tmp_path_factory):
    """A run of six cells, and how many files were open in each of them at most."""
    config = project(
        tmp_path_factory.mktemp("six"),
        chunkers=[{"fixed": {"size": 40}}],
        retrievers=[{"bm25": {"k1": at / 10}} for at in range(1, 7)],
        retrieve=2,
        metrics=["passage_recall@2", "mrr@2", "corpus_bleu", "token_f1"],
    )
    most: Counter[str] = Counter()

    def count(cell, *_):
        most[cell] = max(most[cell], len(os.listdir(OPEN)) if OPEN.exists() else 0)

    done = api.run(runner.prepare(load(config, [], {})), count)
    return reader.load(done.folder), [most[cell.name] for cell in done.run.cells]


def test_a_run_holds_no_more_files_open_in_its_sixth_cell_than_in_its_second(six):
    stored, most = six

    assert stored.run.cache["traced"]["made"] >= 6
    assert most[1:] == [most[1]] * 5


@pytest.fixture(scope="module")
def records(six):
    """One cell's records, of which one failed, one has two samples, and some cost tokens."""
    first, second, *rest = list(six[0].records)[: len(six[0].questions)]
    failed = Score(value=None, reason="generation: 500", state="failed")
    some = [
        AnswerSample(
            answer="6",
            declined=False,
            usage=Usage(tokens_in=5, tokens_out=at),
            scores={name: Score(value=at / 4) for name in second.scores},
        )
        for at in (1, 3)
    ]
    error = Failure(stage="generation", reason="500")
    none = {"error": error, "answer": None, "scores": dict.fromkeys(first.scores, failed)}
    return [replace(first, **none), replace(second, samples=tuple(some)), *rest]


def test_rows_that_were_released_are_free_for_whoever_makes_room_and_can_be_asked_for_again(
    tmp_path,
):
    with Cache(tmp_path) as cache:
        table = cache.table("orders", tuple[int, ...], {"of": 1})
        table.put({"a": (3, 1)})
        table.close()
        table.close()

        assert cache.table("orders", tuple[int, ...], {"of": 1}).get(["a"]) == {"a": (3, 1)}


def test_a_frame_sums_up_what_its_records_say(six, records):
    stored, _ = six
    frame = replace(stored, records=records).frame
    metrics = [
        NamedMetric(name, build_metric(name).metric) for name in stored.run.provenance.metrics
    ]
    means = aggregate.aggregate_metrics(frame, metrics)
    everything = np.arange(len(records))
    spent = expenses.sum_spent(
        frame.usages(everything), int(frame.calls.sum()), "openai:gpt", [], None
    )
    waited = [record.seconds["retrieval"] for record in records]

    assert (means["token_f1"].failed, means["token_f1"].n) == (1, 4)  # one is unanswerable
    assert frame.scores("corpus_bleu")[2].counts == records[2].scores["corpus_bleu"].counts
    spread = aggregate.measure_spread(frame)["token_f1"]
    assert (spread.n, spread.deviation) == (1, pytest.approx(0.125**0.5))  # of 1/4 and 3/4
    assert aggregate.mean_seconds(frame)["retrieval"] == pytest.approx(sum(waited) / len(waited))
    assert spent.calls == len(records) + 1  # the failed one and two samples among them
    assert frame.usages(np.array([1])) == [Usage(10, 4)]
    assert frame.answered.tolist() == [record.answer is not None for record in records]
    losses = count_losses(frame, list(stored.questions.values()))
    assert losses.failed == 1
    assert losses.questions["none"].count == sum(
        record.lost_at == "none" and record.error is None for record in records
    )


class TestDeepRankings:
    """What is asked for a thousand deep is ranked without sorting all, and read without texts."""

    class Known:
        allowed = None

        def __init__(self, texts):
            self.chunks = [Text(at, text) for at, text in enumerate(texts)]

        def once(self, key, make):
            return make()

    @pytest.mark.parametrize("k", [1, 2, 3, 7, 12, 40])
    def test_bm25_gives_the_first_of_equal_chunks_whatever_is_asked_for(self, k):
        texts = ["ferry harbour", "bridge", "ferry", "ferry harbour", "tunnel", "ferry"] * 4
        index = self.Known(texts)
        bm25 = retrievers.build("bm25")

        (ranking,) = bm25.retrieve(["ferry harbour"], index, k)

        both = [at for at, text in enumerate(texts) if text == "ferry harbour"]
        one = [at for at, text in enumerate(texts) if text == "ferry"]
        assert [hit.chunk.index for hit in ranking] == [*both, *one][:k]
        assert np.all(np.diff([hit.score for hit in ranking]) <= 0)

    def test_chunks_without_texts_are_the_same_places(self, tmp_path):
        from harness import corpus
        from harness.chunkers import chunkers
        from harness.corpus import chunk_set

        config = load(project(tmp_path), [], {})
        documents = corpus.load(config.corpus, config.cache)
        chunker = chunkers.build({"fixed": {"size": 40}})
        chunk_set.save(tmp_path, documents, chunker)
        chunks = chunk_set.load(tmp_path, "x", documents, chunker)
        bare = SearchContext(chunks, None, None, None).without_texts().chunks

        assert [bare[at].span for at in range(len(bare))] == [chunk.span for chunk in chunks]
        assert {bare[at].text for at in range(len(bare))} == {""}
        assert [chunk.text for chunk in bare] == [chunk.text for chunk in chunks]
        assert bare[3].index == 3


class Text:
    """A chunk as BM25 reads it."""

    def __init__(self, index, text):
        self.index, self.indexed_text = index, text
