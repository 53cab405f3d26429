"""What runs and cells share: exactly what is new is made, and what is not is not asked for."""

import json
from dataclasses import replace

import pytest

from harness import api
from harness.chunkers import chunkers
from harness.config.run_config import load
from harness.runs import runner
from harness.store import reader
from tests.support.counting import counting_embedder, counting_generator, counting_retriever
from tests.support.small import DOCUMENTS, QUESTIONS, project

ONE = {"chunkers": [{"fixed": {"size": 40}}], "retrievers": ["dense"]}
TEXTS = [question["question"] for question in QUESTIONS]
MANY = ["hit_rate@2", "recall(labels=documents, rel=3)@3", "evidence_recall@40t", "map", "judged@5"]
MANY += ["keyword_ndcg@3", "passage_mrr@5", "chunk_ceiling", "bleu", "rougeL", "corpus_bleu"]
MANY += ["context_overlap", "composite", "decline_recall", "abstention"]


def run(config, fresh=False, **parts):
    """Run a configuration, with `parts` (embedder, generator, ...) in every cell."""
    loaded = load(config, [], {})
    cells = [
        replace(each, **{k: v for k, v in parts.items() if k != "embedder" or each.embedder})
        for each in loaded.cells
    ]
    loaded = replace(loaded, cells=tuple(dict.fromkeys(cells)))
    return api.run(runner.prepare(loaded), lambda *_: None, fresh)


def made(finished):
    """Return how much was made of each kind that anything was made of."""
    found = {kind: counts["made"] for kind, counts in finished.run.cache.items()}
    return {kind: number for kind, number in found.items() if number}


def cut(spec):
    """Return the different texts of all chunks of the small project."""
    chunker = chunkers.build(spec)
    return {text[a:b] for text in DOCUMENTS.values() for a, b in chunker.split(text)}


class TestVectors:
    def test_a_chunk_that_two_chunkers_cut_is_embedded_once(self, tmp_path):
        embedder = counting_embedder()
        specs = ["fixed(size=40)", "fixed(size=1000)", "sentence(size=40)", "whole"]

        finished = run(project(tmp_path, **{**ONE, "chunkers": specs}), embedder=embedder)

        texts = set().union(*map(cut, specs))
        assert len(texts) < sum(len(cut(spec)) for spec in specs)
        assert sorted(embedder.asked) == sorted(
            [("document", text) for text in texts] + [("query", text) for text in TEXTS]
        )
        assert made(finished)["vectors"] == len(texts) + len(TEXTS)
        assert made(finished)["index"] == 4


class TestRankings:
    def test_cells_that_differ_in_their_generator_alone_retrieve_once(self, tmp_path):
        retriever = counting_retriever()
        generators = ["extractive", "extractive(sentences=2)", "none"]
        finished = run(project(tmp_path, **ONE, generators=generators), retriever=retriever)

        assert retriever.asked == TEXTS
        assert finished.run.cache["rankings"] == {"made": 5, "reused": 10}
        hits = [r.hits for r in reader.load(finished.folder).records]
        assert hits[:5] == hits[5:10] == hits[10:]

    def test_a_question_that_retrieval_failed_on_is_asked_again_and_no_other(self, tmp_path):
        config = project(tmp_path, **ONE, max_failures=0.5)
        broken, sound = counting_retriever(failing=["dock"]), counting_retriever()
        first = run(config, retriever=broken)
        second = run(config, retriever=sound)

        assert [cell.failed for cell in (*first.run.cells, *second.run.cells)] == [1, 0]
        assert sound.asked == ["How many docks has the harbour station?"]
        assert made(second)["rankings"] == 1

    def test_another_depth_is_another_ranking(self, tmp_path):
        retriever = counting_retriever()
        for depth in (5, 4, 5):
            run(project(tmp_path, **ONE, retrieve=depth), retriever=retriever)

        assert retriever.asked == TEXTS * 2


class TestAnswers:
    def test_a_question_that_failed_is_asked_by_the_next_run_and_an_answered_one_is_not(
        self, tmp_path
    ):
        generator = counting_generator()
        config = project(tmp_path, **ONE, max_failures=0.5)
        generator.failing.add("dock")
        first = run(config, generator=generator)
        assert (first.run.cells[0].failed, first.run.cells[0].answered) == (1, 4)
        assert first.run.cells[0].scores["token_f1"].failed == 1
        generator.asked.clear()
        generator.failing.clear()

        second = run(config, generator=generator)

        assert generator.asked == ["How many docks has the harbour station?"]
        assert (second.run.cells[0].failed, second.run.cells[0].answered) == (0, 5)
        assert second.run.cells[0].scores["token_f1"].failed == 0
        assert second.run.cache["answers"] == {"made": 1, "reused": 4}


@pytest.fixture
def twice(tmp_path):
    """Run a grid twice; returns the configuration and both."""
    retrievers = ["dense", "bm25", "hybrid"]
    config = project(tmp_path, retrievers=retrievers, metrics=MANY, decide_by="hit_rate@2")
    embedder, generator = counting_embedder(), counting_generator()
    parts = {"embedder": embedder, "generator": generator}
    return config, parts, run(config, **parts), run(config, **parts)


class TestTheSameRunAgain:
    def test_writes_the_same_records_byte_for_byte(self, twice):
        _, _, first, second = twice

        for name in ("records.jsonl", "questions.jsonl", "texts.jsonl"):
            written = [(each.folder / name).read_bytes() for each in (first, second)]
            assert written[0] == written[1] != b"", name

    def test_says_the_same_of_everything_but_its_own_time(self, twice):
        told = [json.loads((each.folder / "run.json").read_text("utf-8")) for each in twice[2:]]
        own = {"id", "started", "ended", "seconds", "cache"}
        reused = [cell.pop("reused")["n"] for each in told for cell in each["cells"]]

        first, second = ({k: v for k, v in each.items() if k not in own} for each in told)
        assert first == second
        assert set(told[0]) - set(first) == own
        half = len(reused) // 2
        assert not any(reused[:half])
        assert all(reused[half:])
