"""Links into the questions: from the verdict, the advice and the chart of losses."""

import json
import re

import pytest

from harness import api, report
from harness.config.run_config import load
from harness.report import html
from harness.report.run_view import View
from harness.report.sections import parts
from harness.runs import runner
from harness.store import reader
from tests import small
from tests.browser import opened
from tests.damage import unsealed
from tests.many import many

COPIES = 3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run in which three questions with evidence and one without failed everywhere."""
    folder = tmp_path_factory.mktemp("links")
    rows = [{**row, "id": f"{row['id']}-{at}"} for at in range(COPIES) for row in small.QUESTIONS]
    made = api.run(
        runner.prepare(load(small.project(folder, rows), [], {})), lambda *_: None
    ).folder
    file = made / "records.jsonl"
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for record in records:
        name = record["question"].partition("-")[0]
        if name == "age" or record["question"] == "ceo-1":
            record |= {"error": {"stage": "generation", "reason": "gone"}, "lost_at": None}
        elif name == "docks":
            record |= {"lost_at": "context", "error": None}
    file.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    unsealed(made)
    report.write(made)
    return View(reader.load(made))


@pytest.fixture(scope="module")
def window(run, browser):
    with opened(browser, viewport={"width": 1280, "height": 1000}) as page:
        yield page


@pytest.fixture
def page(run, window):
    return visit(run, window)


def visit(run, page, address=""):
    page.goto("about:blank")
    page.goto((run.stored.folder / "report.html").as_uri() + address)
    page.locator("tr.question").first.wait_for()
    return page


def best(run):
    return run.cells.index(run.shipped or run.best)


def ids(page):
    return page.locator("tr.question .id").all_text_contents()


def said(page, text):
    page.locator(".count", has_text=re.compile(rf"^{re.escape(text)}, scores for ")).wait_for()


def press(page, name):
    page.get_by_role("button", name=name).click()


@pytest.mark.parametrize("stage", ["context", "failed"])
def test_a_click_on_the_number_of_a_segment_opens_its_questions(run, page, stage):
    link = page.locator(f"#figure-losses .wide a[href*='lost={stage}&cell={best(run)}']")
    link.scroll_into_view_if_needed()
    box = link.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    name = {"context": "docks", "failed": "age"}[stage]
    page.wait_for_function("() => location.hash.startsWith('#questions?lost=')")
    among = ", among the 12 linked" if stage == "failed" else ""
    said(page, f"{COPIES} of 15 questions{among}")
    assert ids(page) == [f"{name}-{at}" for at in range(COPIES)]


def test_the_questions_that_tell_most_are_a_link_to_them_with_the_best_configuration(run, page):
    ten = ids(page)
    assert len(ten) == 10
    other = (best(run) + 1) % len(run.cells)
    page.locator(".filters select.focus").select_option(str(other))
    press(page, "All 15")
    said(page, "15 of 15 questions")

    page.get_by_role("link", name="Read the ten questions that tell most").click()

    said(page, "10 of 15 questions")
    assert ids(page) == ten
    assert page.locator(".presets [aria-pressed=true]").all_text_contents() == ["Ten to read"]
    assert page.locator(".filters select.focus").input_value() == str(best(run))


def test_that_link_leads_to_them_without_a_script_too(run, browser):
    with opened(browser, java_script_enabled=False) as page:
        page.goto((run.stored.folder / "report.html").as_uri())
        page.get_by_role("link", name="Read the ten questions that tell most").click()

        note = page.locator("noscript p").first
        assert note.text_content().startswith("10 questions to read with ")
        assert 0 <= note.bounding_box()["y"] < 300


def test_linked_questions_are_said_to_be_such_until_that_is_cleared(run, page):
    visit(run, page, "#questions?ids=day-0,day-1,docks-0")
    said(page, "3 of 15 questions, among the 3 linked")
    page.get_by_label("Category").select_option("rule")
    said(page, "0 of 15 questions, among the 3 linked")

    press(page, "Not only these")
    said(page, "6 of 15 questions")
    assert page.locator(".unlink").is_hidden()
    assert page.evaluate("location.hash") == "#questions"

    for button in ("Clear", "All 15"):
        visit(run, page, "#questions?ids=day-0")
        said(page, "1 of 15 questions, among the one linked")
        press(page, button)
        said(page, "15 of 15 questions")
        assert page.locator(".unlink").is_hidden()
        assert page.evaluate("location.hash") == "#questions"


def test_on_a_phone_every_target_but_those_within_sentences_is_24_pixels_high(run, browser):
    with opened(browser, viewport={"width": 390, "height": 844}) as page:
        visit(run, page)
        assert page.locator("#advice a").count() > 0
        page.locator("#browser .asked").first.click()
        page.locator(".ranking .hit .handle").first.wait_for()
        low = page.evaluate(
            """() => [...document.querySelectorAll("a, button, select, summary, .check")]
              .filter((each) => !each.closest("svg") && !each.matches(".skip"))
              .filter((each) => { const { width, height } = each.getBoundingClientRect();
                return width && height < 24; })
              .map((each) => each.outerHTML.slice(0, 80))"""
        )

    assert low == []


def test_a_large_run_opens_filters_and_shows_a_question(run, browser, tmp_path):
    view = View(many(run.stored, 12, 160))
    text = html.render(view, parts(view))
    file = tmp_path / "report.html"
    file.write_text(text, encoding="utf-8")
    assert len(text.encode()) < 2e6

    failed = [f"{id_}-{at}" for at, id_ in enumerate(list(run.stored.questions) * 11)][:160]
    failed = [id_ for id_ in failed if id_.startswith(("age", "ceo-1"))]
    with opened(browser, file) as page:
        press(page, "All 160")
        said(page, "160 of 160 questions")
        assert page.locator("tr.question").count() == 50
        press(page, f"Failed ({len(failed)})")
        said(page, f"{len(failed)} of 160 questions")
        assert ids(page) == failed
        page.get_by_label("Lost at").select_option("context")
        page.get_by_text("docks-0-1", exact=True).wait_for()
        page.locator("button.asked").first.click()
        page.locator(".hit").first.wait_for()
        assert page.locator("table.elsewhere tbody tr").count() == 12
