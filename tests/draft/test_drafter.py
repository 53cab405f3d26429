"""Questions drafted from documents: what is kept, what is dropped and why, and what is written."""

import json
import re

import pytest

from harness import draft
from harness.draft import draft_checks, draft_prompts
from harness.draft.draft_prompts import (
    CATEGORIES,
    UNANSWERABLE,
    DraftReply,
    choose_categories,
    spread_categories,
)
from harness.errors import HarnessError, RunError
from harness.models.chat.settings import ChatReply
from harness.records import Chunk, Document, Span
from harness.report import draft_blocks, terminal
from tests.support.draft_server import FAULTS, Script, corpus
from tests.support.draft_server import drafting as served

DOCUMENT = Document("a.md", "She did.", "A")
GOOD = ("north", "south", "east", "west")


def drafted(config, n, names=(), seed=None, name="drafts.jsonl", force=False):
    """Draft into a file beside the configuration; return what was written, and its rows."""
    path = config.parent / name
    written = draft.run(draft.prepare(config, (), seed), n, path, names, force)
    return written, [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_draft_has_a_question_an_answer_and_the_whole_sentence_it_rests_on(tmp_path):
    with served(tmp_path, GOOD) as (config, _):
        written, rows = drafted(config, 4, ["direct_fact"])

    assert len(rows) == 4
    assert {row["evidence"][0]["doc"] for row in rows} == {f"{name}.md" for name in GOOD}
    for row in rows:
        (evidence,) = row["evidence"]
        text = corpus(GOOD)[evidence["doc"]]
        first = re.match(r"[^.]+\.", text)[0]
        assert text[evidence["start"] : evidence["end"]] == evidence["quote"] == first
        assert row["answers"] == [f"{first.split()[-2]} units"]
        assert row["draft"] is True
        assert row["category"] == "direct_fact"
        assert row["drafted"] == {
            "by": "openai:drafter",
            "passages": [{"doc": evidence["doc"], "start": 0, "end": len(text) - 1}],
        }
    said = terminal.render(list(draft_blocks.written(written)))
    assert "4 of 4 questions drafted by openai:drafter" in said
    assert "4 drafts asked for, 0 dropped" in said


def test_every_fault_is_dropped_and_counted_once(tmp_path):
    known = {"question": "How much is counted for {}?", "answers": ["1"]}
    text = corpus([*FAULTS, *GOOD])["twin.md"]
    known["question"] = known["question"].format(" ".join(text.split()[1:4]))
    with served(tmp_path, [*FAULTS, *GOOD], [known]) as (config, _):
        written, rows = drafted(config, 12, ["direct_fact"])

    assert {row["evidence"][0]["doc"] for row in rows} == {f"{name}.md" for name in GOOD}
    assert dict(written.drafts.dropped) == dict.fromkeys(FAULTS, 1)
    assert written.drafts.tried == 12
    said = terminal.render(list(draft_blocks.written(written)))
    assert "12 drafts asked for, 8 dropped" in said
    assert "1 the question is nearly the same as another" in said
    assert "1 the model knows the answer without the evidence" in said


def test_a_question_of_the_test_set_is_no_twin_where_the_drafts_replace_it(tmp_path):
    with served(tmp_path, GOOD) as (config, _):
        _, first = drafted(config, 4, ["direct_fact"], name="testset.jsonl")
        written, again = drafted(config, 4, ["direct_fact"], name="testset.jsonl", force=True)

    assert again == first
    assert not written.drafts.dropped


def test_several_passages_are_of_several_documents_and_each_has_evidence(tmp_path):
    with served(tmp_path, GOOD) as (config, _):
        _, rows = drafted(config, 2, ["comparative", "holistic"])

    for row, count in zip(rows, (2, 3), strict=True):
        assert len({each["doc"] for each in row["evidence"]}) == count
        assert [each["group"] for each in row["evidence"]] == ["1", "2", "3"][:count]
        assert row["difficulty"] == "hard"


def test_evidence_of_one_document_alone_is_dropped_where_several_were_asked_for(tmp_path):
    with served(tmp_path, ["alone", "north"]) as (config, _):
        written, rows = drafted(config, 2, ["spanning"])

    assert written.drafts.dropped["alone"] == 1
    assert len(rows) == 1


def test_an_unanswerable_question_is_checked_against_what_the_corpus_says(tmp_path):
    with served(tmp_path, ["there", "north", "south"]) as (config, bench):
        written, rows = drafted(config, 3, ["unanswerable"])

    assert dict(written.drafts.dropped) == {"there": 1}
    assert [row["answerable"] for row in rows] == [False, False]
    assert not any("answers" in row or "evidence" in row for row in rows)
    checked = [prompt for prompt in bench.asked if "<context>" in prompt]
    assert len(checked) == 3
    words = re.search(r"Who came up with (\w+ \w+)", checked[0])[1]
    assert words.lower() in checked[0].split("</context>")[0].lower()


def test_one_question_in_eight_is_unanswerable_and_the_rest_is_spread_evenly():
    slots = spread_categories(50, CATEGORIES)
    counts = {each.name: slots.count(each) for each in CATEGORIES}

    assert counts.pop("unanswerable") == 6
    assert sorted(counts.values()) == [6, 6, 6, 6, 6, 7, 7]
    assert spread_categories(10, CATEGORIES).count(UNANSWERABLE) == 1
    assert spread_categories(3, [UNANSWERABLE]) == [UNANSWERABLE] * 3
    assert UNANSWERABLE not in spread_categories(
        40, choose_categories(["temporal", "numerical"], 9)
    )


def test_no_document_is_drawn_from_twice_before_all_once(tmp_path):
    with served(tmp_path, [f"d{at}" for at in range(12)]) as (config, bench):
        drafted(config, 24, ["direct_fact", "numerical"])

    titles = [re.search(r'document="(.*?)"', each)[1] for each in bench.asked if "<passage" in each]
    # Eight are asked for together, in no order.
    assert len(set(titles[:8])) == 8
    assert len(set(titles[:16])) == 12
    assert sorted(titles) == sorted([f"d{at}" for at in range(12)] * 2)


def test_the_seed_alone_decides(tmp_path):
    names = [f"d{at}" for at in range(20)]
    found = {}
    for folder, seed, concurrent in (("a", 1, 1), ("b", 1, 5), ("c", 2, 1)):
        (tmp_path / folder).mkdir()
        with served(tmp_path / folder, names) as (config, _):
            text = config.read_text("utf-8").replace("concurrent: 4", f"concurrent: {concurrent}")
            config.write_text(text, encoding="utf-8")
            drafted(config, 5, seed=seed)
        found[folder] = (tmp_path / folder / "drafts.jsonl").read_bytes()

    assert found["a"] == found["b"]
    assert found["a"] != found["c"]


def test_a_reply_that_cannot_be_read_is_asked_for_once_more(tmp_path):
    class Hesitant(Script):
        def draft(self, passages):
            return "Well." if self.drafts == 1 else super().draft(passages)

    with served(tmp_path, ["north"], says=Hesitant()) as (config, bench):
        written, rows = drafted(config, 1, ["direct_fact"])

    assert len(rows) == 1
    assert not written.drafts.dropped
    assert "Your last reply could not be read" in bench.asked[1]


class Tired(Script):
    """Says nothing after its eighth draft."""

    def draft(self, passages):
        return None if self.drafts > 8 else super().draft(passages)


def test_a_model_that_fails_ends_it_and_what_there_is_by_then_is_written(tmp_path):
    names = [f"d{at}" for at in range(20)]
    with served(tmp_path, names, says=Tired()) as (config, _):
        with pytest.raises(RunError, match="no draft was made: chat model 'openai:drafter' failed"):
            drafted(config, 16, ["direct_fact"])
        part = (tmp_path / "drafts.part.jsonl").read_text("utf-8").splitlines()
        assert len(part) == 8
        assert not (tmp_path / "drafts.jsonl").exists()


def test_one_that_fails_alone_is_dropped_and_the_others_are_made(tmp_path):
    with served(tmp_path, [f"d{at}" for at in range(9)], says=Tired()) as (config, _):
        written, rows = drafted(config, 9, ["direct_fact"])

    assert len(rows) == 8
    assert dict(written.drafts.dropped) == {"silent": 1}


def test_nothing_left_is_an_error_that_says_why(tmp_path):
    with (
        served(tmp_path, ["leaks", "quote"]) as (config, _),
        pytest.raises(RunError, match="no draft is left of 2") as error,
    ):
        drafted(config, 2, ["direct_fact"])

    assert "1 x the question gives its answer away" in str(error.value)


def test_a_file_that_is_there_is_not_replaced_unasked(tmp_path):
    with served(tmp_path, GOOD) as (config, bench):
        drafted(config, 1, ["direct_fact"])
        asked = len(bench.asked)
        with pytest.raises(HarnessError, match="is there already\n  write elsewhere"):
            drafted(config, 1, ["direct_fact"])

    assert len(bench.asked) == asked


def test_a_missing_test_set_is_no_fault_but_another_mistake_is(tmp_path):
    with served(tmp_path, GOOD) as (config, _):
        assert "testset.jsonl" in draft.prepare(config).notes[0]
        with pytest.raises(HarnessError, match="unknown retriever 'dens'"):
            draft.prepare(config, ["retrievers=dens"])


def test_an_unknown_category_and_one_that_the_corpus_is_too_small_for_are_refused():
    with pytest.raises(HarnessError, match="did you mean 'temporal'"):
        choose_categories(["temporel"], 3)
    with pytest.raises(HarnessError, match="'spanning' needs passages of two documents"):
        choose_categories(["spanning"], 1)
    assert [each.name for each in choose_categories([], 1)] == [
        "direct_fact",
        "temporal",
        "numerical",
        "unanswerable",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "QUESTION: Who?\nANSWER: Ada\nEVIDENCE 1: She did.",
            DraftReply("Who?", "Ada", ("She did.",)),
        ),
        ('**Question:** Who?\n**Answer:** Ada\n**Evidence 1:** "She did."\n\nQuestion: B?', None),
        ("<think>QUESTION: x</think>\n> - QUESTION: Who?", False),
        ("- QUESTION : Who?\n- ANSWER : Ada\n- EVIDENCE: She did.", None),
        ("QUESTION: Who?\nANSWER: Ada", False),
        ("QUESTION: ?\nANSWER: Ada\nEVIDENCE 1: She did.", False),
        ("", False),
    ],
)
def test_replies_are_read_as_small_models_write_them(text, said):
    passage = Chunk(0, Span("a.md", 0, 8), "She did.")
    wanted = draft_prompts.question_request(CATEGORIES[0], [passage], {"a.md": DOCUMENT})
    expected = DraftReply("Who?", "Ada", ("She did.",)) if said is None else said or None

    assert wanted.read(ChatReply(text)) == expected


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("QUESTION: Who founded it?", "Who founded it?"),
        ("Who founded it?\n", "Who founded it?"),
        ("Here is one.\nWho founded it?", None),
        ("I cannot think of any.", None),
    ],
)
def test_a_question_alone_needs_no_label(text, question):
    wanted = draft_prompts.question_request(
        UNANSWERABLE, [Chunk(0, Span("a.md", 0, 8), "She did.")], {"a.md": DOCUMENT}
    )

    assert wanted.read(ChatReply(text)) == (question and DraftReply(question))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does the passage say of fares?", True),
        ("According to the text, who pays?", True),
        ("What do both passages share?", True),
        ("Which limit is mentioned above?", True),
        ("Which documents must a driver carry in the car?", False),
        ("Who may use the passage of the harbour?", True),
        ("What is a month pass?", False),
    ],
)
def test_questions_that_speak_of_a_text_are_found(question, expected):
    assert draft_checks.refers_to_text(question) is expected


def test_a_question_leaks_an_answer_all_of_whose_words_it_has():
    assert draft_checks.leaks_answer(
        DraftReply("Does the harbour station have 24 docks?", "24 docks.")
    )
    assert not draft_checks.leaks_answer(
        DraftReply("How many docks has the harbour station?", "24 docks.")
    )


def test_an_answer_stands_in_the_evidence_where_all_its_new_words_do():
    said = DraftReply("How many docks has the station?", "It has 24 docks.")

    assert draft_checks.is_in_evidence(said, ["The harbour has 24 of them."])
    assert not draft_checks.is_in_evidence(said, ["The harbour has 25 of them."])
    assert not draft_checks.is_in_evidence(DraftReply("Is it open?", "It is."), ["It is open."])


def test_an_answer_is_known_from_half_of_its_words_on():
    assert draft_checks.is_known(DraftReply("?", "forty dollars"), "forty pounds")
    assert not draft_checks.is_known(
        DraftReply("?", "forty dollars"), "about forty or fifty, in pounds"
    )


def test_a_quote_is_widened_to_its_sentence_and_one_that_is_nowhere_is_none():
    text = "Fares rose in May. A day pass costs 6 dollars now. Riders complained."
    passage = Chunk(0, Span("fares.md", 100, 100 + len(text)), text)

    (found,) = draft_checks.locate_quotes(DraftReply("?", "6", ("a day  PASS costs 6",)), [passage])
    assert found.span == Span("fares.md", 119, 150)
    assert found.text == "A day pass costs 6 dollars now."
    assert (
        draft_checks.locate_quotes(
            DraftReply("?", "6", ("A day pass costs 7 euros, or so.",)), [passage]
        )
        is None
    )


def test_a_quote_is_found_behind_the_words_that_announce_it():
    text = "Fares rose in May. A day pass costs 6 dollars now. Riders complained."
    passage = Chunk(0, Span("fares.md", 0, len(text)), text)
    said = DraftReply("?", "6", ('"Fares" states that "A day pass costs 6 dollars now.',))

    assert [each.text for each in draft_checks.locate_quotes(said, [passage])] == [
        "A day pass costs 6 dollars now."
    ]
    assert (
        draft_checks.locate_quotes(
            DraftReply("?", "6", ('It says "in May" somewhere.',)), [passage]
        )
        is None
    )


def test_difficulty_is_how_far_question_and_evidence_are_apart():
    text = "A day pass costs 6 dollars now."
    (near,) = draft_checks.locate_quotes(
        DraftReply("", "", (text,)), [Chunk(0, Span("a", 0, len(text)), text)]
    )
    (far,) = draft_checks.locate_quotes(
        DraftReply("", "", (text,)), [Chunk(0, Span("b", 0, len(text)), text)]
    )

    assert draft_checks.rate_difficulty("What costs a day pass?", [near]) == "easy"
    assert (
        draft_checks.rate_difficulty("How expensive is riding until midnight?", [near]) == "medium"
    )
    assert draft_checks.rate_difficulty("What costs a day pass?", [near, far]) == "hard"
