"""Runs of many cells: what one cell needs is let go of, and of its records little is kept."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from harness import runner, spending, store, summarise
from harness.cache import Cache
from harness.config import load
from harness.lines import question
from harness.losses import losses
from harness.retrievers import retrievers
from harness.rows import key_of
from harness.scoring import Named, build
from harness.searched import Searched
from harness.stored import FailureLine, SampleLine, ScoreLine, UsageLine
from harness.summing import Briefly
from tests.small import project

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

    done = runner.run(runner.prepare(load(config, [], {})), count)
    return store.load(done.folder), [most[cell.name] for cell in done.run.cells]


def test_a_run_holds_no_more_files_open_in_its_sixth_cell_than_in_its_second(six):
    stored, most = six

    assert stored.run.cache["traced"]["made"] >= 6
    assert most[1:] == [most[1]] * 5


@pytest.fixture(scope="module")
def records(six):
    """One cell's records, of which one failed, one has two samples, and some cost tokens."""
    first, second, *rest = list(six[0].records)[: len(six[0].questions)]
    failed = ScoreLine(value=None, reason="generation: 500", state="failed")
    some = [
        SampleLine(
            answer="6",
            declined=False,
            usage=UsageLine(tokens_in=5, tokens_out=at),
            scores={name: ScoreLine(value=at / 4) for name in second.scores},
        )
        for at in (1, 3)
    ]
    error = FailureLine(stage="generation", reason="500")
    none = {"error": error, "answer": None, "scores": dict.fromkeys(first.scores, failed)}
    return [first.model_copy(update=none), second.model_copy(update={"samples": some}), *rest]


def test_rows_that_were_released_are_free_for_whoever_makes_room_and_can_be_asked_for_again(
    tmp_path,
):
    with Cache(tmp_path) as cache:
        cache.rows("orders", {"of": 1}).put({key_of("a"): b"1"})
        cache.release("orders", {"of": 1})
        cache.release("orders", {"of": 2})  # was never asked for

        assert list(cache.rows("orders", {"of": 1}).get([key_of("a")]).values()) == [b"1"]


class TestBriefRecords:
    def test_are_summed_up_as_whole_ones_are(self, six, records):
        stored, _ = six
        metrics = [Named(name, build(name).metric) for name in stored.run.provenance.metrics]
        brief = list(map(Briefly(), records))
        questions = {id_: question(line) for id_, line in stored.questions.items()}

        sums = [
            (
                summarise.aggregated(some, metrics, 7),
                summarise.spread(some),
                summarise.mean_seconds(some),
                losses(some, questions),
                spending.spent(some, "openai:gpt", [], None),
                [each.answer is None for each in some],
            )
            for some in (records, brief)
        ]

        assert sums[0] == sums[1]
        assert sums[0][0]["token_f1"].failed == 1
        assert sums[0][1]["token_f1"].n == 1
        assert sums[0][4].calls == 6  # the failed one and the two samples among them

    def test_hold_nothing_of_any_length(self, records):
        brief = Briefly()(records[2])

        kept = {key for key, value in brief.model_dump(exclude_defaults=True).items() if value}
        assert kept <= {"cell", "question", "declined", "usage", "seconds", "scores", "lost_at",
                        "passages", "without_evidence"}  # fmt: skip
        assert brief.answer == ""

    def test_that_score_alike_share_one_score(self, records):
        brief = Briefly()
        one, other = brief(records[2]), brief(records[2].model_copy())

        assert all(one.scores[name] is other.scores[name] for name in one.scores)

    def test_keep_the_chunks_near_a_passage_where_they_are_asked_for(self, records):
        assert Briefly(touching=True)(records[2]).touching == records[2].touching != []
        assert Briefly()(records[2]).touching is None


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
        from harness import chunking, corpus
        from harness.chunkers import chunkers

        config = load(project(tmp_path), [], {})
        documents = corpus.load(config.corpus, config.cache)
        chunker = chunkers.build({"fixed": {"size": 40}})
        chunking.save(tmp_path, documents, chunker)
        chunks = chunking.load(tmp_path, "x", documents, chunker)
        bare = Searched(chunks, None, None, None).without_texts().chunks

        assert [bare[at].span for at in range(len(bare))] == [chunk.span for chunk in chunks]
        assert {bare[at].text for at in range(len(bare))} == {""}
        assert [chunk.text for chunk in bare] == [chunk.text for chunk in chunks]
        assert bare[3].index == 3


class Text:
    """A chunk as BM25 reads it."""

    def __init__(self, index, text):
        self.index, self.indexed_text = index, text
