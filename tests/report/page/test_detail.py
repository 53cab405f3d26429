"""What a question's detail says of its record: of every loss, failure, sample and grade."""

import json

import pytest

from harness import api, report
from harness.config.run_config import load
from harness.runs import runner
from tests.support import small
from tests.support.browser import opened
from tests.support.damage import unsealed

DAY, DOCKS, AGE, HELMET, CEO = small.QUESTIONS
RANKS = {
    "below": ("retrieval", {"rank": 1204}, "whole at rank 1,204, below the first 2 that go on"),
    "deep": (
        "retrieval",
        {"exact_rank": 3012},
        "not whole in what was retrieved: rank 3,012 under exact search",
    ),
    "nowhere": (
        "retrieval",
        {},
        "not whole in what was retrieved: not within the first 5,000 under exact search",
    ),
    "index": ("index", {"exact_rank": 1}, "rank 1 under exact search, and not found by the index"),
    "pushed": (
        "index",
        {"exact_rank": 1, "rank": 4},
        "rank 1 under exact search, and with the index whole at rank 4, "
        "below the first 2 that go on",
    ),
    "cut": (
        "chunking",
        {"pieces": 2, "largest": 0.63},
        "no chunk holds it whole: it is spread over 2 chunks, "
        "the largest share in one is 63\u00a0%",
    ),
    "gone": ("chunking", {"pieces": 0, "largest": 0.0}, "no chunk holds any of it"),
    "reranked": (
        "reranking",
        {"rank": 2, "reranked": 9},
        "whole at rank 2 before reranking, at 9 after",
    ),
    "dropped": ("reranking", {"rank": 2}, "whole at rank 2 before reranking, not kept after"),
    "long": (
        "context",
        {"rank": 2, "cut_at": 1500},
        "whole at rank 2, but the context was cut at token 1,500",
    ),
    "unsent": ("context", {"rank": 2}, "whole at rank 2, and not in the prompt"),
}
VERDICT = {"of": "claim", "value": 1, "reason": "it says so", "replies": ["raw reply"]}


def made(folder, questions, change=None, **settings):
    """Run the questions, let `change` alter each record, and return the folder of the report."""
    path = small.project(folder, questions, **settings)
    done = api.run(runner.prepare(load(path, [], {})), lambda *_: None).folder
    if change is not None:
        file = done / "records.jsonl"
        records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for record in records:
            change(record)
            cut = record.get("context")
            if isinstance(cut, dict) and cut["hits"] > len(record["hits"]):
                record["context"] = None  # it is made of hits
        file.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
        unsealed(done)
        report.write(done)
    return done


def lost(record):
    record["traced_to"] = 5_000
    if record["question"] in RANKS:
        record["lost_at"], facts, _ = RANKS[record["question"]]
        record["passages"] = [{"group": "1", "stage": record["lost_at"], "facts": facts}]
    elif record["question"] == "untold":
        record |= {"lost_at": None, "passages": []}
    elif record["question"] == "unknown":
        record["lost_at"] = None
        for passage in record["passages"]:
            passage["stage"] = None
    elif record["question"] == "ceo":
        record |= {"error": {"stage": "generation", "reason": "no reply"}, "lost_at": None}
        record |= {"answer": None, "declined": None}
        record["scores"]["abstention"] |= {"value": None, "state": "failed", "reason": "failed"}
    elif record["question"] == "day":
        first = json.loads(json.dumps(record["scores"]))
        second = json.loads(json.dumps(record["scores"]))
        first["token_f1"] |= {"value": 0.25, "reason": "the first <reason>"}
        second["token_f1"] |= {"value": 0.75, "verdicts": [VERDICT]}
        sample = {"declined": False, "usage": None}
        record["samples"] = [
            {"answer": "one", "scores": first, **sample},
            {"answer": "two", "scores": second, **sample},
        ]


def unanswered(record):
    record["lost_at"] = "generation"


def graded(record):
    """Let one chunk be found and three be missed, of grades 1 and 2, and more that nobody named."""
    first, *others = record["hits"]
    places = [{key: other[key] for key in ("doc", "start", "end")} for other in others]
    missed = [
        {**place, "grade": grade, "rank": None}
        for place, grade in zip(places, [2, 1, 2], strict=False)
    ]
    hit = {**first, "grade": 1}
    there = {"grades": [1], "inventory": [3, 2, 2, 2, 1, 1, 1], "irrelevant": 0}
    record |= {"hits": [hit], "missed": missed, "judged": {"evidence": there}, "candidates": []}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The runs: made before the browser is there, as nothing may run beside it."""
    lines = [{**DAY, "id": name} for name in (*RANKS, "untold", "unknown")]
    evidence = [{**DAY["evidence"][0], "grade": 2}]
    asked = {**DAY, "question": "A day pass, a month, 24 docks, or May 2019?", "evidence": evidence}
    new = tmp_path_factory.mktemp
    bm25 = {"chunkers": ["markdown"], "retrievers": ["bm25"]}
    ranked = {**bm25, "metrics": ["passage_recall@2"]}
    pieces = {**ranked, "chunkers": [{"fixed": {"size": 20}}]}
    return {
        "lost": made(new("lost"), [*lines, DAY, CEO], lost, **bm25),
        "graded": made(new("graded"), [asked], graded, **pieces, relevance_level=2),
        "retrieved": made(new("retrieved"), [DAY, AGE], **ranked, generators=["none"]),
        "unscored": made(new("unscored"), [DAY, AGE], **ranked),
        "unanswered": made(new("unanswered"), [AGE], unanswered, **ranked),
    }


@pytest.fixture(scope="module")
def pages(folders, browser):
    with opened(browser, viewport={"width": 1280, "height": 1000}) as page:

        def visit(name, address=""):
            page.goto("about:blank")
            page.goto((folders[name] / "report.html").as_uri() + address)
            page.locator("tr.question").first.wait_for()
            if address.startswith("#q-"):
                page.locator(".detail .parts").wait_for()
            return page

        yield visit


@pytest.mark.parametrize("question", RANKS)
def test_a_loss_is_told_as_its_facts_are(pages, question):
    stage, _, wanted = RANKS[question]
    said = pages("lost", f"#q-{question}").locator(".facts p").first.text_content()

    assert said.endswith(f"lost at {stage}: {wanted}")


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("untold", "what was retrieved is not reported, so nobody can say where it was lost"),
        ("unknown", "all evidence was in the prompt, and nothing says which answer is right"),
    ],
)
def test_why_nobody_can_say_where_it_was_lost_is_told(pages, question, wanted):
    said = pages("lost", f"#q-{question}").locator(".facts p").first.text_content()

    assert said.endswith(wanted)


def test_the_sentence_that_held_the_answer_is_named_and_marked_in_the_context(pages):
    page = pages("unanswered", "#q-age")
    said = page.locator(".facts p").first.text_content()
    assert said.endswith(
        "all evidence was in the prompt, and it was not answered; "
        "held the answer, at rank 1: Riders must be 14 years old."
    )

    page.get_by_text("The prompt’s context").click()
    page.locator(".sent .held").wait_for()
    assert page.locator(".sent .held").all_text_contents() == ["Riders must be 14 years old."]
    assert page.locator(".held mark").all_text_contents() == ["Riders must be 14 years old."]
    assert page.locator(".held + .held-said").all_text_contents() == [" held the answer "]


def test_a_question_that_no_shown_metric_scores_is_among_those_that_failed(pages):
    page = pages("lost")
    page.get_by_role("button", name="Failed (1)").click()
    page.locator(".count", has_text="1 of 15 questions").wait_for()
    assert page.locator("tr.question .id").all_text_contents() == ["ceo"]
    assert page.locator("td.lost").all_text_contents() == ["failed"]

    page = pages("lost", "#questions?lost=failed")
    assert page.locator("tr.question .id").all_text_contents() == ["ceo"]
    page.goto("about:blank")
    page = pages("lost", "#questions?lost=retrieval")
    assert page.locator("tr.question .id").all_text_contents() == ["below", "deep", "nowhere"]


def test_every_sample_has_its_scores_reasons_and_raw_replies(pages):
    page = pages("lost", "#q-day")
    samples = page.get_by_role("region", name="Each of its answers")
    heads = samples.locator("thead").first.locator("th").all_text_contents()
    assert heads == ["Sample", "Answer", "token_f1"]
    assert samples.locator("tbody tr").all_text_contents() == ["1one0.25", "2two0.75"]

    for number in (1, 2):
        samples.locator("summary", has_text=f"Sample {number}: scores and reasons").click()
    folds = samples.locator("details.fold")
    row = folds.nth(0).locator("tr", has_text="token_f1")
    assert row.text_content() == "token_f10.25the first <reason>"
    samples.locator("summary", has_text="1 verdict").click()
    samples.locator("summary", has_text="Raw reply").click()
    samples.locator(".verdicts pre").wait_for()
    said = samples.locator(".verdicts").text_content()
    assert all(text in said for text in ("claim", "it says so", "raw reply"))


def test_what_is_below_the_level_is_not_called_relevant_and_the_rest_is_counted(pages):
    page = pages("graded", "#q-day")
    page.locator(".hit").first.wait_for()

    grades = page.locator(".hit .hit-about > span:nth-of-type(1)").all_text_contents()
    assert grades == ["not relevant, grade 1", "relevant, grade 2", "relevant, grade 2"]
    # of four relevant ones two are named above
    assert page.locator(".unnamed").all_text_contents() == [
        "2 more relevant chunks were not retrieved."
    ]
    assert page.locator("table.missed").count() == 0


@pytest.mark.parametrize(
    ("name", "word", "other"),
    [("retrieved", "delivered", "answered"), ("unscored", "answered", "delivered")],
)
def test_one_word_says_what_was_not_lost_in_the_chart_and_in_the_browser(pages, name, word, other):
    page = pages(name, "#q-day")
    chart = page.locator("#figure-losses").text_content().lower()

    assert word in chart
    assert other not in chart
    options = page.get_by_label("Lost at").locator("option").all_text_contents()
    assert options[:2] == ["any", word]
    assert page.locator("td.lost").first.text_content() == word
    assert page.locator(".facts .stage").first.text_content() == word
