"""What is kept of rankings, answers and scores comes back as it was; failures are not kept."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from harness.cache.folders import Cache
from harness.generators.chat import Chat
from harness.generators.extractive import Extractive
from harness.metrics import metrics
from harness.records import Answer, Case, Hit, Question, Score, not_scored
from harness.runs.result_tables import (
    IndexFacts,
    IndexRecall,
    RankingTable,
    ScoreTable,
    TimedAnswer,
    TimedRanking,
    answer_table,
)
from tests.support.listed import listed

CHUNKS = listed(["the moon", "mars", "venus"])
HITS = (Hit(CHUNKS[2], 0.1 + 0.2), Hit(CHUNKS[0], -1e-300))


@pytest.fixture
def cache(tmp_path):
    with Cache(tmp_path / "cache") as opened:
        yield opened


def rankings(cache, **about):
    about = {"retriever": "dense", **about}
    by_text = lambda texts: dict(zip(texts, texts, strict=True))  # noqa: E731
    return RankingTable(cache, "rankings", about, CHUNKS.__getitem__, by_text)


class TestRankings:
    def test_hits_scores_and_seconds_come_back_to_the_last_bit(self, cache):
        question, other = Question("q", "How far?\ud800"), Question("r", "How hot?")
        made = [(question, TimedRanking(HITS, 0.1)), (other, TimedRanking((), 1 / 3))]
        rankings(cache).put(made)

        found = rankings(cache).get([other, question, Question("s", "Where?")])
        assert found == {"q": TimedRanking(HITS, 0.1), "r": TimedRanking((), 1 / 3)}
        assert cache.counted()["rankings"] == {"made": 2, "reused": 2}

    def test_they_go_by_the_questions_words_alone(self, cache):
        rankings(cache).put(
            [(Question("q", "How far?", answers=("far",)), TimedRanking(HITS, 0.1))]
        )

        found = rankings(cache).get([Question("a", "How far?"), Question("b", "How far?")])
        assert found == {"a": TimedRanking(HITS, 0.1), "b": TimedRanking(HITS, 0.1)}
        assert rankings(cache).get([Question("q", "how far?")]) == {}

    def test_another_retriever_has_its_own(self, cache):
        rankings(cache).put([(Question("q", "How far?"), TimedRanking(HITS, 0.1))])

        assert rankings(cache, retriever="bm25").get([Question("q", "How far?")]) == {}

    def test_they_are_there_again_after_they_were_closed(self, cache):
        rankings(cache).put([(Question("q", "How far?"), TimedRanking(HITS, 0.1))])
        rankings(cache).close()

        assert rankings(cache).get([Question("q", "How far?")]) == {"q": TimedRanking(HITS, 0.1)}


class TestAnswers:
    @pytest.mark.parametrize(
        "answer",
        [
            None,
            Answer(""),
            Answer("", declined=True),
            Answer("月 \ud800 \x00\u2028", True, 12, 0, "openai:gpt", "stop"),
        ],
        ids=["none", "empty", "declined", "in full"],
    )
    def test_every_field_comes_back(self, cache, answer):
        answer_table(cache, Extractive()).put({("How far?", "far", 0): TimedAnswer(answer, 1 / 3)})

        found = answer_table(cache, Extractive()).get([("How far?", "far", 0)])
        assert found == {("How far?", "far", 0): TimedAnswer(answer, 1 / 3)}

    def test_they_go_by_question_and_context_and_not_by_both_run_together(self, cache):
        answers = answer_table(cache, Extractive())
        answers.put({("ab", "c", 0): TimedAnswer(Answer("x"), 0.0)})

        assert (
            answers.get(
                [("a", "bc", 0), ("abc", "", 0), ("ab", "C", 0), ("c", "ab", 0), ("ab", "c", 1)]
            )
            == {}
        )
        assert list(answers.get([("ab", "c", 0)])) == [("ab", "c", 0)]
        assert cache.counted()["answers"] == {"made": 1, "reused": 1}

    @pytest.mark.parametrize(
        "changed",
        [
            {"model": "openai:other"},
            {"prompt": "{context} {question}"},
            {"temperature": 0.5},
            {"max_tokens": 77},
            {"base_url": "http://localhost:1/v1"},
            {"decline_patterns": ("no idea",)},
        ],
        ids=str,
    )
    def test_what_shapes_an_answer_has_it_asked_again(self, cache, changed):
        chat = Chat("openai:gpt")
        answer_table(cache, chat).put({("q", "c", 0): TimedAnswer(Answer("x"), 0.0)})

        assert answer_table(cache, replace(chat, **changed)).get([("q", "c", 0)]) == {}
        assert len(answer_table(cache, Chat("openai:gpt")).get([("q", "c", 0)])) == 1

    @pytest.mark.parametrize("changed", [{"timeout": 1.0}, {"retries": 9}, {"concurrent": 9}])
    def test_the_pace_of_asking_does_not(self, cache, changed):
        chat = Chat("openai:gpt")
        answer_table(cache, chat).put({("q", "c", 0): TimedAnswer(Answer("x"), 0.0)})

        assert len(answer_table(cache, replace(chat, **changed)).get([("q", "c", 0)])) == 1


@pytest.mark.parametrize("recall", [None, IndexRecall(k=10, mean=0.1 + 0.2, questions=77)])
def test_what_an_index_was_found_to_be_comes_back(cache, recall):
    table = cache.table("measures", IndexFacts, {})
    table.put({"one": IndexFacts(3, recall)})

    assert table.get(["one", "other"]) == {"one": IndexFacts(3, recall)}


TOKEN_F1 = metrics.build("token_f1")
CASES = [Case(Question(f"q{number}", "?")) for number in (0, 1, 2, 3, 4, 0)]
KEYS = ["a", "b", "c", "d", "e", "a"]
STATES = {
    "q0": Score(0.1 + 0.2, "0.3, about"),
    "q1": not_scored("nothing was answered"),
    "q2": Score(None, "generation: 429", "failed"),
    "q3": Score(None, "the judge gave up", "metric_failed"),
    "q4": Score(None, "", counts=(1.0, 0.5)),
}


class TestScores:
    def asked_of(self, cache, metric=TOKEN_F1):
        """Score all the cases; returns the scores, and the ids of those that were asked for."""
        asked = []

        def score(cases):
            asked.extend(case.question.id for case in cases)
            return [STATES[case.question.id] for case in cases]

        return ScoreTable(cache).get_or_score(metric, CASES, KEYS, score), asked

    def test_what_is_scored_or_does_not_apply_is_kept_and_a_failure_of_either_kind_never(
        self, cache
    ):
        first, second = self.asked_of(cache), self.asked_of(cache)

        assert first[0] == second[0] == [*STATES.values(), STATES["q0"]]
        assert first[1] == ["q0", "q1", "q2", "q3", "q4"]
        assert second[1] == ["q2", "q3"]
        assert cache.counted()["scores"] == {"made": 5 + 2, "reused": 1 + 4}

    def test_each_way_to_build_a_metric_has_its_own(self, cache):
        names = ["token_f1", "rouge1", "recall(labels=documents)@5", "recall(labels=evidence)@5"]
        names += ["recall(labels=documents)@6", "recall(labels=documents, rel=2)@5", "bleu"]

        for name in names:
            assert self.asked_of(cache, metrics.build(name))[1][:2] == ["q0", "q1"], name
        for name in names:
            assert self.asked_of(cache, metrics.build(name))[1] == ["q2", "q3"], name

    def test_a_metric_of_a_model_has_its_own_by_its_version_and_by_what_the_model_is(self, cache):
        found = []
        for version, model in ((1, 1), (2, 1), (1, 2), (1, 1)):
            found.append(self.asked_of(cache, by_model(version, model))[1][:1])

        assert found == [["q0"], ["q0"], ["q0"], ["q2"]]


def by_model(number, weights):
    """Return a metric whose identity is that of its model, with a version of the model's own."""

    @dataclass(frozen=True)
    class ByModel:
        name: ClassVar[str] = "by_model"
        version: ClassVar[int] = number

        def identity(self):
            return {"name": "model", "version": 1, "weights": weights}

    return ByModel()
