"""The report in a browser: questions have addresses, and a ranking can be moved."""

import re

import pytest

from tests.behaviour import harbour, stations
from tests.behaviour.golden import run_folder
from tests.behaviour.processes_of_runs import finish, start
from tests.behaviour.servers import rows
from tests.browser import opened


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return two runs, made before the browser is there, as nothing may run beside it."""
    lost, ranked = (tmp_path_factory.mktemp(name) for name in ("lost", "ranked"))
    harbour.write(lost, retrievers=["bm25"], answer_test={"metric": "token_f1", "min": 0.3})
    stations.write(ranked)
    stations.Stations(ranked, None).config(stations.WORSE)
    for process in [start(folder, "run", "config.yaml") for folder in (lost, ranked)]:
        status, _, err = finish(process)
        assert status == 0, err
    return {"lost": run_folder(lost), "ranked": run_folder(ranked)}


@pytest.fixture(scope="module")
def window(runs, browser):
    with opened(browser, viewport={"width": 1280, "height": 2000}) as page:
        yield page


@pytest.fixture
def visit(runs, window):
    """Return a function that opens the report of a run at an address, and waits for a selector."""

    def call(name, address, selector):
        window.goto("about:blank")
        window.goto((runs[name] / "report.html").as_uri() + address)
        window.locator(selector).first.wait_for()
        return window

    return call


def test_an_address_opens_its_question_and_the_history_leads_back(visit):
    page = visit("lost", "#q-docks", ".detail .facts")
    assert page.locator("tr.open .id").text_content() == "docks"
    page.get_by_role("button", name="Close", exact=True).click()
    assert page.evaluate("location.hash") == "#questions"
    page.locator("tr.question", has_text="What does a day pass cost?").locator("button").click()
    page.locator(".detail .facts").wait_for()
    assert page.evaluate("location.hash") == "#q-day"
    page.go_back()
    page.locator(".detail").wait_for(state="detached")


@pytest.mark.parametrize("stage", ["chunking", "generation"])
def test_an_address_lists_the_questions_that_a_stage_lost(runs, visit, stage):
    records = rows(runs["lost"] / "records.jsonl")
    lost = [record["question"] for record in records if record["lost_at"] == stage]
    page = visit("lost", f"#questions?lost={stage}", "tr.question")
    page.wait_for_function(
        "(text) => document.querySelector('.count').textContent.startsWith(text)",
        arg=f"{len(lost)} of 6 questions",
    )

    assert lost
    assert sorted(page.locator("tr.question .id").all_text_contents()) == sorted(lost)


def measures(page):
    return [float(text) for text in page.locator(".measure b").all_inner_texts()]


def documents(page):
    return page.locator(".hit:not(.out) .doc").all_text_contents()


def test_a_result_is_moved_by_key_and_the_formulas_follow(visit):
    page = visit("ranked", "#q-q7", ".hit")
    # The right document is at rank 3: nDCG 1 / log2(4), RR and AP 1 / 3.
    assert documents(page) == ["8.md", "9.md", "7.md"]
    assert measures(page)[:3] == pytest.approx([0.5, 1 / 3, 1 / 3], abs=5e-5)
    page.locator(".hit").nth(2).locator(".handle").press("Home")

    assert documents(page) == ["7.md", "8.md", "9.md"]
    assert measures(page)[:3] == [1, 1, 1]
    first = page.locator(".measure").first
    assert first.locator(".change").inner_text() == "+0.5000"
    assert first.locator("p span").all_inner_texts()[0].startswith("DCG = 1/log₂2")
    page.keyboard.press("Escape")
    assert documents(page) == ["8.md", "9.md", "7.md"]


def test_a_result_is_dragged_to_where_the_pointer_lets_it_go(visit):
    page = visit("ranked", "#q-q4", ".hit")
    assert documents(page) == ["5.md", "4.md", "6.md"]
    handle = page.locator(".hit").nth(1).locator(".handle").bounding_box()
    target = page.locator(".hit").nth(0).bounding_box()
    page.mouse.move(handle["x"] + 8, handle["y"] + 8)
    page.mouse.down()
    page.mouse.move(handle["x"] + 8, (handle["y"] + target["y"]) / 2, steps=3)
    page.mouse.move(handle["x"] + 8, target["y"] + 3, steps=3)
    page.mouse.up()

    assert documents(page) == ["4.md", "5.md", "6.md"]
    assert measures(page)[:3] == [1, 1, 1]
    assert re.match(r"4\.md is at rank 1 now", page.locator(".ranking [role=status]").inner_text())


def test_evidence_is_marked_in_the_ranking(visit):
    page = visit("lost", "#q-docks", ".hit")

    assert "The harbour station has 24 docks." in page.locator(".hit mark").all_inner_texts()
