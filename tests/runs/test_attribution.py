"""Where evidence is lost: by lists drawn by hand, and in runs with one loss planted in each.

text    0         1         2         3         4
        0123456789012345678901234567890123456789
gold    ..........##########....................   "one"
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from harness.config.run_config import load
from harness.config.settings import AnswerTest
from harness.embedders.hashing import Hashing
from harness.errors import ConfigError, StageError
from harness.records import (
    Answer,
    Case,
    Chunk,
    Failure,
    Hit,
    Passage,
    PassageFacts,
    Question,
    Span,
)
from harness.runs import attribution
from harness.runs.attribution import SpanLists, attribute, list_missed
from harness.runs.system_cell import attribute_system as of_system
from harness.store import reader
from tests.runs.test_artefacts import run
from tests.support.small import project

TEXT = "x" * 40


def passage(start, end, group="one", doc="a", text=None):
    return Passage(Span(doc, start, end), text or TEXT[start:end], group)


def spans(*places, doc="a"):
    return [Span(doc, start, end) for start, end in places]


def asked(*passages, answer="right", failure=None, **about):
    question = Question("q", "What?", passages=passages or (passage(10, 20),), **about)
    return Case(question, answer=None if answer is None else Answer(answer), failure=failure)


def lists(retrieved, prompt=None, **others):
    own = [retrieved[0]] if retrieved else []
    near = spans((0, 20), (20, 40))
    defaults = {"near": near, "exact": [(7, near[0])], "counted": 2, "chunks": 2, "budget": 9}
    return SpanLists(retrieved, own if prompt is None else prompt, **{**defaults, **others})


def stages(case, found, answered=False, generates=True):
    lost_at, arrivals = attribute(case, found, answered, generates)
    return lost_at, {each.group: each.stage for each in arrivals}


def facts(found, *passages):
    _, (arrival,) = attribute(asked(*passages), found, False, True)
    return arrival.facts


GOLD, NOT, ALSO_NOT = spans((0, 20), (20, 40), (30, 40))


@pytest.mark.parametrize(
    ("found", "stage"),
    [
        (lists([GOLD]), None),
        (lists([NOT, ALSO_NOT, GOLD]), "retrieval"),  # the third, and two are counted
        (lists([NOT]), "retrieval"),
        (lists([NOT], exact=[(2, GOLD)]), "index"),
        (lists([NOT], exact=[(3, GOLD)]), "retrieval"),
        (lists([NOT], exact=[(2, GOLD)], near=spans((0, 19), (19, 40))), "chunking"),
        (lists([NOT], exact=None, near=None), "retrieval"),
        (lists([NOT, GOLD], [NOT], ranked=[NOT, ALSO_NOT, GOLD]), "reranking"),
        (lists([NOT, GOLD], [NOT], ranked=[NOT, ALSO_NOT]), "reranking"),
        (lists([NOT, GOLD], [NOT], ranked=[NOT, GOLD]), "context"),
        (lists([GOLD], spans((0, 19))), "context"),
        (lists([GOLD], [], counted=None, chunks=None), "context"),
    ],
)
def test_a_group_is_lost_at_the_first_stage_it_does_not_come_out_of_whole(found, stage):
    lost_at = stage or "generation"

    assert stages(asked(), found) == (lost_at, {"one": stage})


def test_whole_is_95_of_100_visible_characters_in_the_union_of_chunks():
    long = passage(0, 103, text="y" * 50 + "   " + "y" * 50)
    enough, short = spans((0, 60), (55, 98)), spans((0, 60), (55, 97))

    assert stages(asked(long), lists(enough, enough)) == ("generation", {"one": None})
    assert stages(asked(long), lists(short, short, near=[Span("a", 0, 103)]))[0] == "retrieval"


def test_of_alternatives_one_is_enough_and_of_groups_the_earliest_loss_counts():
    two = [passage(10, 20), passage(30, 40)]
    assert stages(asked(*two), lists([NOT])) == ("generation", {"one": None})
    groups = [passage(0, 5, "first"), passage(10, 20, "second"), passage(32, 38, "third")]
    found = lists([GOLD], spans((0, 9)), near=spans((0, 20), (20, 35), (35, 40)))
    each = {"first": None, "second": "context", "third": "chunking"}
    assert stages(asked(*groups), found) == ("chunking", each)


@pytest.mark.parametrize(
    ("found", "answered", "generates", "lost_at"),
    [
        ([GOLD], True, True, "none"),
        ([NOT], True, True, "none"),  # without the evidence
        ([GOLD], False, True, "generation"),
        ([GOLD], None, True, None),  # nothing says what a right answer is
        ([NOT], None, True, "retrieval"),
        ([GOLD], None, False, "none"),
        ([NOT], None, False, "retrieval"),
    ],
)
def test_the_question_is_lost_at_the_earliest_of_its_groups_unless_it_was_answered(
    found, answered, generates, lost_at
):
    assert stages(asked(), lists(found), answered, generates)[0] == lost_at


@pytest.mark.parametrize(
    "case",
    [
        asked(answerable=False),
        asked(failure=Failure("generation", "gone"), answer=None),
        asked(failure=Failure("retrieval", "gone"), answer=None),
        Case(Question("q", "What?")),
    ],
    ids=["unanswerable", "no answer", "no ranking", "no evidence"],
)
def test_what_cannot_be_followed_is_not_attributed(case):
    assert attribute(case, lists([NOT]), False, True) == (None, ())


def test_ranks_are_those_at_which_a_group_becomes_whole():
    halves = spans((0, 15), (15, 40))
    found = facts(
        lists(
            [halves[0], NOT, halves[1]],
            ranked=[halves[1], NOT, ALSO_NOT, halves[0]],
            near=halves,
            exact=[(4, halves[1]), (6, halves[0])],
            counted=3,
        )
    )

    assert (found.rank, found.reranked, found.exact_rank, found.cut_at) == (3, 4, 6, None)
    assert (found.pieces, found.largest) == (2, 0.5)


def test_a_rank_behind_what_is_counted_is_told_and_one_that_there_is_not_is_none():
    behind = facts(lists([NOT, ALSO_NOT, GOLD]))
    assert (behind.rank, behind.reranked, behind.exact_rank) == (3, None, 7)
    nowhere = facts(lists([NOT], exact=None, near=None))
    assert nowhere == attribution.PassageFacts()


@pytest.mark.parametrize(
    ("near", "pieces", "largest"),
    [
        ([(0, 40)], 1, 1.0),
        ([(0, 19), (0, 20), (19, 40)], 1, 1.0),
        ([(0, 13), (13, 16), (16, 40)], 3, 0.4),
        ([(0, 13), (9, 16), (12, 18), (16, 40)], 2, 0.6),  # the second and the last hold it all
        ([(0, 13), (15, 40)], 2, 0.5),  # nobody holds all of it
        ([(20, 40)], 0, 0.0),
    ],
)
def test_pieces_are_the_fewest_chunks_that_hold_the_passage(near, pieces, largest):
    found = facts(lists([NOT], near=spans(*near)))

    assert (found.pieces, found.largest) == (pieces, pytest.approx(largest))


def test_white_space_between_chunks_is_no_piece_and_the_best_alternative_is_told_of():
    spaced = passage(10, 20, text="abcd  efgh")
    assert facts(lists([NOT], near=spans((0, 14), (16, 40))), spaced).pieces == 2
    better = passage(30, 40)
    found = facts(lists([NOT], near=spans((0, 12), (12, 31), (31, 40))), spaced, better)
    assert (found.pieces, found.largest) == (2, 0.9)


def chunk(number):
    return Chunk(number, Span("a", number, number + 1), "x")


def test_what_was_missed_comes_by_rank_then_by_grade_and_no_more_than_twenty():
    relevant = [(1, [chunk(5)]), (2, [chunk(6)]), (1, [chunk(7), chunk(8)]), (3, [chunk(9)])]
    found = list_missed(relevant, {8: 2, 5: 40})

    assert [(missed.index, grade) for grade, missed in found] == [(8, 1), (5, 1), (9, 3), (6, 2)]
    assert len(list_missed([(1, [chunk(n)]) for n in range(30)], {})) == 20


def test_of_a_system_retrieval_context_and_generation_can_be_told_apart():
    text = "A day pass costs 6 dollars. Helmets are free."
    gold = Passage(Span("a", 0, 27), text[:27], "one")
    hits = (Hit(Chunk(0, Span("a", 0, 45), text), 1.0),)
    question = Question("q", "What?", passages=(gold,))

    def lost(sent, found=hits, **about):
        got = of_system(Case(question, found, **about), sent, False)
        return got.lost_at, [(each.stage, each.facts.pieces) for each in got.passages]

    assert lost(None) == ("generation", [(None, None)])
    assert lost("Context: a DAY pass\ncosts 6 dollars.") == ("generation", [(None, None)])
    assert lost("Helmets are free.") == ("context", [("context", None)])
    assert lost(None, ()) == ("retrieval", [("retrieval", None)])
    assert lost(None, answers=False) == ("none", [(None, None)])
    assert lost(None, (), ranked=False) == (None, [])


@pytest.mark.parametrize(
    ("test", "answer", "about", "passed"),
    [
        ({}, "It is 24 docks.", {"keywords": ("24 DOCKS",)}, True),
        ({}, "It is 124 docks.", {"keywords": ("24 docks",)}, False),
        ({}, "24 docks", {"keywords": ("24 docks", "harbour"), "answers": ("24 docks",)}, False),
        ({}, "24 docks there", {"answers": ("24 docks",)}, True),  # 2 * 2 / 5
        ({}, "there are some 24", {"answers": ("24 docks",)}, False),  # 2 * 1 / 6
        ({"min": 0.3}, "there are some 24", {"answers": ("24 docks",)}, True),
        ({"keywords": False}, "24", {"keywords": ("x",), "answers": ("24",)}, True),
        ({"metric": "exact_match", "min": 1}, "24 docks there", {"answers": ("24 docks",)}, False),
        ({}, "24 docks", {}, None),
        ({}, None, {"answers": ("24 docks",)}, False),
    ],
)
def test_an_answer_counts_by_its_keywords_else_by_the_metric(test, answer, about, passed):
    assert AnswerTest(**test).passed(asked(answer=answer, **about)) is passed


def test_a_decline_never_counts():
    question = Question("q", "What?", keywords=("know",))

    assert AnswerTest().passed(Case(question, answer=Answer("I don't know", True))) is False


ENTRIES = range(8)
SHORT, LONG = ENTRIES[0::2], ENTRIES[1::2]
BASE = {
    "corpus": "corpus.jsonl",
    "chunkers": ["whole"],
    "retrievers": ["dense"],
    "generators": ["extractive"],
    "index": {"exact": True},
    "retrieve": 4,
    "context": {"chunks": 2, "tokens": 200},
    "metrics": ["passage_recall@2", "hit_rate@2"],
}


def number(text):
    return int(re.search(r"\d+", text).group())


def text(n):
    """Return an entry, of 17 characters and 5 tokens or of 56 characters and 11 tokens."""
    more = "says that the thing in question is called" if n % 2 else "is"
    return f"Entry {n} {more} word{n}."


@dataclass(frozen=True)
class Numbered(Hashing):
    """Gives each text, and the question for it, the vector of the first number in it.

    Those of the numbers in `hidden` point away from their questions.
    """

    hidden: tuple[int, ...] = ()

    name: ClassVar[str] = "numbered"
    floor: ClassVar[bool] = False

    def embed(self, texts, kind):
        found = np.array([self._one(number(each), kind) for each in texts], dtype=np.float32)
        return found.reshape(len(texts), 16)

    def _one(self, n, kind):
        vector = np.random.default_rng(n).normal(size=16)
        away = -1 if kind == "document" and n in self.hidden else 1
        return away * vector / np.linalg.norm(vector)


@dataclass(frozen=True)
class Reader:
    """Says the word that is asked for where the context has it, or where it knows it by heart."""

    ignores: tuple[int, ...] = ()
    knows: tuple[int, ...] = ()
    declines: tuple[int, ...] = ()
    fails: tuple[int, ...] = ()

    name: ClassVar[str] = "reader"
    version: ClassVar[int] = 1
    answers: ClassVar[bool] = True
    copies: ClassVar[bool] = False
    at_once: ClassVar[int] = 1
    repeat: ClassVar[int] = 1

    def check(self):
        pass

    def answer(self, question, context, sample=0):
        n = number(question)
        if n in self.fails:
            raise StageError("no more tokens")
        read = f"word{n}." in context and n not in self.ignores
        said = f"It is word{n}." if read or n in self.knows else "Something else."
        return Answer(said, declined=n in self.declines)


def question(n, *evidence, **more):
    gold = [{"doc": f"e{doc}", **about} for doc, about in evidence or [(n, {})]]
    gold = [{"quote": text(int(each["doc"][1:])), **each} for each in gold]
    return {
        "id": str(n),
        "question": f"What is {n}?",
        "keywords": [f"word{n}"],
        "evidence": gold,
        **more,
    }


def written(folder, entries=ENTRIES, asked=None, **changes):
    """Write a project of entries, and of a question for each of those that are `asked` for."""
    questions = [question(n) for n in entries] if asked is None else asked
    config = project(folder, questions, **{**BASE, **changes})
    rows = (json.dumps({"id": f"e{n}", "text": text(n)}) + "\n" for n in entries)
    (folder / "corpus.jsonl").write_text("".join(rows))
    return config


def ran(config, **parts):
    """Return the stored run of a configuration, with these components in every cell."""
    finished = run(config, **{"embedder": Numbered(), "generator": Reader(), **parts})
    return reader.load(finished.folder)


def lost(stored):
    """Return where each question was lost; the cell has counted the same, and its groups."""
    found = {int(record.question): record.lost_at for record in stored.records}
    groups = [each.stage for record in stored.records if record.lost_at for each in record.passages]
    (cell,) = stored.run.cells
    assert counted(cell.losses.questions) == Counter(filter(None, found.values()))
    assert counted(cell.losses.groups) == Counter(filter(None, groups))
    assert {line.of for line in cell.losses.groups.values()} == {len(groups)}
    return found


def counted(lines):
    return {stage: line.count for stage, line in lines.items() if line.count}


def all_facts(stored):
    return {
        int(record.question): [each.facts for each in record.passages] for record in stored.records
    }


def expected(stage, planted):
    return {n: stage if n in planted else "none" for n in ENTRIES}


def test_a_poor_index_loses_what_exact_search_finds_at_index(tmp_path):
    entries, poor = range(3_000), {"max_neighbors": 2, "ef_construction": 4, "ef_search": 1}
    asked = [question(n) for n in entries[::50]]
    few = {"retrieve": 1, "context": {"chunks": 1, "tokens": 200}}
    metrics = ["passage_recall@1"]
    stored = ran(written(tmp_path, entries, asked, index=poor, metrics=metrics, **few))

    found = {int(record.question): [h.doc for h in record.hits] for record in stored.records}
    # Each entry has the vector of its question: whatever is lost, the index lost it.
    assert lost(stored) == {
        n: "none" if docs == [f"e{n}"] else "index" for n, docs in found.items()
    }
    assert Counter(lost(stored).values())["index"] >= 5
    for record in stored.records:
        (each,) = record.passages
        if record.lost_at == "index":
            assert (each.facts.exact_rank, each.facts.rank, record.traced_to) == (1, None, 1_000)
            assert [(gone.doc, gone.rank) for gone in record.missed] == [(f"e{record.question}", 1)]


def test_a_true_rank_just_below_the_cut_is_that_of_numpy(tmp_path):
    config = written(tmp_path, asked=[question(0, (n, {})) | {"id": str(n)} for n in ENTRIES])
    stored = ran(config)

    vectors = Numbered().embed([text(n) for n in ENTRIES], "document")
    ranking = np.argsort(-(vectors @ vectors[0]), kind="stable").tolist()
    for record in stored.records:
        true = ranking.index(int(record.question)) + 1
        (each,) = record.passages
        assert each.facts.rank == (true if true <= 4 else None)
        assert each.stage == (None if true <= 2 else "retrieval")
        assert [gone.rank for gone in record.missed] == ([true] if true > 4 else [])
        assert each.facts.exact_rank == true


def test_unanswerable_questions_and_failures_are_not_attributed(tmp_path):
    asked = [question(1), question(3), {"id": "2", "question": "What is 2?", "answerable": False}]
    parts = {"embedder": Numbered(hidden=(3,)), "generator": Reader(fails=(3,))}
    stored = ran(written(tmp_path, asked=asked, max_failures=5), **parts)

    assert lost(stored) == {1: "none", 2: None, 3: None}
    assert [len(record.passages) for record in stored.records] == [1, 0, 0]
    # What was retrieved is known, and so is what was not.
    assert [gone.rank for gone in stored.records[1].missed] == [8]


def test_with_parents_the_larger_chunks_are_followed(tmp_path):
    spec = {"fixed": {"size": 30, "parent": "whole"}}
    stored = ran(written(tmp_path, chunkers=[spec]), embedder=Numbered(hidden=(3,)))

    assert lost(stored) == expected("retrieval", (3,))
    assert all_facts(stored)[1] == [PassageFacts(pieces=1, largest=1, rank=1)]
    # Twelve small chunks are looked at, and the eight around them are ranked.
    (missed,) = stored.records[3].missed
    assert (missed.start, missed.end, missed.rank) == (0, 56, 8)
    assert stored.records[3].traced_to == 12


def test_bm25_is_its_own_exact_search(tmp_path):
    asked = [question(n, question=f"Which thing is in question? x{n}x") for n in LONG]
    stored = ran(written(tmp_path, asked=asked, retrievers=["bm25"], retrieve=2))

    # All four entries match alike, and of equals the last two ids are retrieved.
    assert lost(stored) == {1: "retrieval", 3: "retrieval", 5: "none", 7: "none"}
    assert [record.passages[0].facts.exact_rank for record in stored.records] == [4, 3, None, None]
    assert stored.run.cache["traced"] == {"made": 2, "reused": 0}


def test_the_same_again_asks_no_retriever_and_has_the_same_records(tmp_path):
    config = written(tmp_path)
    first = ran(config, embedder=Numbered(hidden=(3,)))
    again = ran(config, embedder=Numbered(hidden=(3,)))

    assert first.run.cache["traced"]["made"] == again.run.cache["traced"]["reused"] > 0
    assert again.run.cache["traced"]["made"] == 0
    assert list(first.records) == list(again.records)


def test_a_fused_ranking_starts_as_it_would_have_in_the_run(tmp_path):
    # BM25 finds the long entries, of equals 1 and 3 first, and the vectors hide entry 5.
    asked = [question(n, question=f"Which thing is in question? x{n}x") for n in ENTRIES]
    fused = {"retrievers": [{"hybrid": {"of": ["dense", "bm25"], "depth": 2}}], "retrieve": 2}
    config = written(tmp_path, asked=asked, **fused)
    exact = ran(config, embedder=Numbered(hidden=(5,)))
    config = written(tmp_path, asked=asked, **{**fused, "index": {"ef_search": 100}})
    approximate = ran(config, embedder=Numbered(hidden=(5,)))

    # So small an index loses nothing, so that both must say the same.
    assert approximate.run.cells[0].index_recall.mean == 1
    assert approximate.run.cache["traced"]["made"] == exact.run.cache["traced"]["made"] > 0
    found = [
        [(each.lost_at, each.passages, each.missed) for each in stored.records]
        for stored in (exact, approximate)
    ]
    assert found[0] == found[1]
    assert lost(exact)[5] == "retrieval"
    assert all(gone.rank > 2 for record in exact.records for gone in record.missed)


def test_mmr_is_asked_for_no_more_than_it_chooses_among(tmp_path):
    spec = {"mmr": {"fetch": 6, "weight": 1.0}}
    stored = ran(written(tmp_path, retrievers=[spec]), embedder=Numbered(hidden=(3,)))

    assert lost(stored) == expected("retrieval", (3,))
    assert stored.records[3].traced_to == 6
    assert [gone.rank for gone in stored.records[3].missed] == [None]


def test_the_answer_test_of_the_configuration_decides(tmp_path):
    strict = {"keywords": False, "metric": "exact_match", "min": 1}
    asked = [question(n, answers=[f"It is word{n}." if n < 4 else f"word{n}"]) for n in ENTRIES]
    stored = ran(written(tmp_path, asked=asked, answer_test=strict))

    assert lost(stored) == expected("generation", ENTRIES[4:])
    assert stored.run.config["resolved"]["answer_test"] == strict


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ({"mim": 0.3}, "unknown key 'mim'\n    did you mean 'min'? choose from: keywords, metric"),
        ({"min": 0}, "answer_test.min: Input should be greater than 0, not 0"),
        ({"metric": "mrr@10"}, "'mrr@10' does not score one answer by itself against references"),
        ({"metric": "tokenf1"}, "metric: unknown metric 'tokenf1'"),
    ],
)
def test_an_answer_test_that_cannot_be_is_refused_with_its_place(tmp_path, test, said):
    with pytest.raises(ConfigError, match=re.escape(said)) as error:
        load(written(tmp_path, answer_test=test), [], {})
    assert "line 1, answer_test" in str(error.value) or "line 2, answer_test" in str(error.value)
