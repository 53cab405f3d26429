"""Relevance: from labels to grades and exact inventories, as METRICS.md has them."""

import pytest

from harness.ranking.relevance import Relevance, fold, judge_by_documents, occurs
from harness.records import Chunk, Hit, Judged, Passage, Question, Span
from tests.support.listed import Listed, listed

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def cut(text, *spans, doc="doc", first=0):
    """Return the chunks of one document that stand at `spans`."""
    return [
        Chunk(first + at, Span(doc, start, end), text[start:end])
        for at, (start, end) in enumerate(spans)
    ]


def passage(text, start, end, grade=1, group="one", doc="doc"):
    return Passage(Span(doc, start, end), text[start:end], group, grade)


def judge(chunks, ranking, kind="evidence", min_overlap=0.5, **labels):
    """Return the grades of a ranking of `chunks`, and the inventory."""
    question = Question("q", "?", **labels)
    hits = [Hit(chunks[at], 1.0 - rank / 100) for rank, at in enumerate(ranking)]
    found = Relevance(Listed(chunks), min_overlap).judge(question, hits, [kind]).get(kind)
    return found and (found.grades, found.inventory)


class TestEvidence:
    def test_a_chunk_is_relevant_from_half_of_the_shorter_of_chunk_and_passage(self):
        # The passage has 10 characters, the chunks 20: of the shorter, 4 and 5 and 6 are shared.
        chunks = cut(ALPHABET, (0, 20), (0, 20), (0, 20))
        for shared, relevant in ((4, 0), (5, 1), (6, 1)):
            gold = passage(ALPHABET, 20 - shared, 30 - shared)
            assert judge(chunks[:1], [0], passages=(gold,)) == ((relevant,), (1,) * relevant)

    def test_where_the_chunk_is_the_shorter_one_its_own_characters_count(self):
        # The passage has 40 characters; a chunk of 8 shares 3, 4 or all of its own with it.
        gold = passage(ALPHABET, 10, 50)
        chunks = cut(ALPHABET, (5, 13), (6, 14), (20, 28), (46, 54), (47, 55))
        assert judge(chunks, range(5), passages=(gold,)) == ((0, 1, 1, 1, 0), (1, 1, 1))

    def test_white_space_counts_for_nothing(self):
        text = "ab" + " " * 30 + "cdefgh"
        gold = passage(text, 0, 38)
        # Six of the eight visible characters are in the second chunk, two in the first.
        chunks = cut(text, (0, 32), (30, 38))
        assert judge(chunks, [0, 1], passages=(gold,)) == ((1, 1), (1, 1))
        # Of the passage b c d e f, a chunk that shows a and b shares b: half of its own two.
        gold = passage(text, 1, 36)
        assert judge(chunks[:1], [0], passages=(gold,)) == ((1,), (1,))
        assert judge(chunks[:1], [0], min_overlap=0.51, passages=(gold,)) == ((0,), ())

    def test_the_share_asked_for_is_met_exactly_at_it(self):
        text = "x" * 400
        for share, common in ((0.55, 55), (0.95, 95), (0.1, 10), (1.0, 100)):
            gold = passage(text, 0, 100)
            at, under = cut(text, (100 - common, 300)), cut(text, (101 - common, 300))
            assert judge(at, [0], min_overlap=share, passages=(gold,))[1] == (1,)
            assert judge(under, [0], min_overlap=share, passages=(gold,))[1] == ()

    def test_chunks_that_only_touch_a_passage_or_stand_in_another_document_are_not_relevant(self):
        gold = passage(ALPHABET, 10, 20)
        chunks = cut(ALPHABET, (0, 10), (20, 30)) + cut(ALPHABET, (10, 20), doc="other", first=2)
        assert judge(chunks, [0, 1, 2], passages=(gold,)) == ((0, 0, 0), ())

    def test_a_chunk_has_the_highest_grade_of_the_passages_it_overlaps(self):
        golds = (
            passage(ALPHABET, 0, 4, grade=1),
            passage(ALPHABET, 4, 8, grade=3, group="two"),
            passage(ALPHABET, 8, 12, grade=2, group="three"),
        )
        chunks = cut(ALPHABET, (0, 12), (8, 20), (30, 40), (0, 4))
        assert judge(chunks, [2, 1, 0], passages=golds) == ((0, 2, 3), (3, 2, 1))
        assert judge(chunks, [0], passages=golds[::-1]) == ((3,), (3, 2, 1))

    def test_the_inventory_holds_every_chunk_that_qualifies_retrieved_or_not(self):
        gold = passage(ALPHABET, 10, 14)
        chunks = cut(ALPHABET, *((at, at + 6) for at in range(0, 30, 2)))
        # At least two of the four characters are in the chunks that start at 6, 8, 10 and 12.
        assert judge(chunks, [], passages=(gold,)) == ((), (1, 1, 1, 1))
        assert judge(chunks, [5, 0, 4], passages=(gold,)) == ((1, 0, 1), (1, 1, 1, 1))

    def test_a_chunk_that_comes_twice_counts_once_at_its_first_rank(self):
        gold = passage(ALPHABET, 0, 10)
        chunks = cut(ALPHABET, (20, 30), (0, 10))
        assert judge(chunks, [0, 1, 0, 1], passages=(gold,)) == ((0, 1), (1,))

    def test_passages_of_one_group_in_two_documents_make_a_chunk_of_either_relevant(self):
        golds = (passage(ALPHABET, 0, 10), passage(ALPHABET, 5, 15, doc="copy", grade=2))
        chunks = cut(ALPHABET, (0, 10)) + cut(ALPHABET, (5, 15), doc="copy", first=1)
        assert judge(chunks, [0, 1], passages=golds) == ((1, 2), (2, 1))

    def test_chunks_that_share_a_character_or_abut_touch_the_passage(self):
        question = Question("q", "?", passages=(passage(ALPHABET, 10, 20),))
        chunks = cut(ALPHABET, (0, 9), (0, 10), (19, 30), (20, 30), (21, 30))
        touching = Relevance(Listed(chunks)).spans_near_gold(question)
        assert [(span.start, span.end) for span in touching] == [(0, 10), (19, 30), (20, 30)]


class TestDocuments:
    def test_chunks_collapse_to_the_first_rank_of_their_document(self):
        chunks = [Chunk(at, Span(doc, at, at + 1), "x") for at, doc in enumerate("abacb")]
        hits = [Hit(chunks[at], 1.0) for at in (0, 2, 1, 4, 3)]
        grades = {"b": 2, "c": 1, "z": 3, "y": 0, "x": -1}
        assert judge_by_documents(grades, hits) == Judged((None, 2, 1), (3, 2, 1), irrelevant=1)

    def test_a_document_nobody_judged_is_not_one_that_was_judged_irrelevant(self):
        chunks = [Chunk(at, Span(doc, 0, 1), "x") for at, doc in enumerate("abc")]
        found = judge(chunks, [0, 1, 2], "documents", documents={"a": 0, "b": -1})
        assert found == ((0, -1, None), ())

    def test_an_empty_judgement_is_a_label_and_none_is_not(self):
        chunks = cut(ALPHABET, (0, 5))
        assert judge(chunks, [0], "documents", documents={}) == ((None,), ())
        assert judge(chunks, [0], "documents") is None


class TestStrings:
    TEXTS = ("The Moon is far.", "A moonlit night", "MOON and\n  mars", "Mars alone")

    def chunks(self, *texts):
        return listed(texts or self.TEXTS)

    def test_a_chunk_with_any_of_the_keywords_is_relevant_and_all_such_are_the_inventory(self):
        found = judge(self.chunks(), [1, 0], "keywords", keywords=("moon",))
        assert found == ((0, 1), (1, 1))
        found = judge(self.chunks(), [3, 1], "keywords", keywords=("moon", "mars"))
        assert found == ((1, 0), (1, 1, 1))

    def test_answers_are_matched_the_same_way(self):
        found = judge(self.chunks(), [2, 3], "answer", answers=("Moon  and mars", "no such"))
        assert found == ((1, 0), (1,))

    def test_what_is_in_no_chunk_is_the_chunkers_loss_and_leaves_an_empty_inventory(self):
        assert judge(self.chunks(), [0], "keywords", keywords=("moon is",)) == ((1,), (1,))
        assert judge(self.chunks(), [0], "keywords", keywords=("far away",)) == ((0,), ())

    def test_the_header_of_a_chunk_is_not_searched(self):
        chunks = [Chunk(0, Span("doc", 0, 4), "Text", header="Moon")]
        assert judge(chunks, [0], "keywords", keywords=("moon",)) == ((0,), ())

    @pytest.mark.parametrize("kind", ["evidence", "keywords", "answer"])
    def test_a_question_without_the_label_is_not_judged_by_it(self, kind):
        assert judge(self.chunks(), [0], kind) is None

    def test_several_kinds_are_judged_side_by_side(self):
        chunks = self.chunks()
        question = Question("q", "?", answers=("far",), keywords=("mars",), documents={"doc": 1})
        kinds = ["answer", "keywords", "documents", "evidence"]
        assert Relevance(chunks).judge(question, [Hit(chunks[0], 1.0)], kinds) == {
            "answer": Judged((1,), (1,), irrelevant=3),
            "keywords": Judged((0,), (1, 1), irrelevant=2),
            "documents": Judged((1,), (1,), irrelevant=0),
        }

    def test_each_keyword_is_judged_by_itself_with_an_inventory_of_its_own(self):
        chunks = self.chunks()
        question = Question("q", "?", keywords=("mars", "far", "venus"))
        hits = [Hit(chunks[3], 1.0), Hit(chunks[0], 0.5), Hit(chunks[3], 0.1)]
        assert Relevance(chunks).keywords(question, hits) == (
            Judged((1, 0), (1, 1), irrelevant=2),
            Judged((0, 1), (1,), irrelevant=3),
            Judged((0, 0), (), irrelevant=4),
        )


@pytest.mark.parametrize(
    ("wanted", "text", "found"),
    [
        ("moon", "The MOON.", True),
        ("moon", "moons", False),
        ("moon", "half-moon", True),
        ("moon", "moon_1", False),
        ("straße", "STRASSE 5", True),
        ("ﬁne", "a FINE day", True),
        ("café", "cafe\u0301s", False),
        ("cafe\u0301", "das Café", True),
        ("１２", "12 months", True),
        ("12", "112", False),
        ("12", "12.50", True),
        ("384,400 km", "it is 384,400\n\tkm away", True),
        ("two  words", "Two\u00a0Words", True),
        ("C++", "in C++17", True),
        ("C++", "objC++", False),
        (".net", "ASP.NET", True),
        ("50%", "50 %", False),
        ("a.c", "abc", False),
        ("保険", "医療保険の", True),
        ("", "anything", False),
        (" \n", "any thing", False),
    ],
)
def test_strings_match_at_word_boundaries_after_nfkc_and_casefold(wanted, text, found):
    assert occurs(wanted, fold(text)) is found
