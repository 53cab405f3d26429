"""The report in a real browser: from disk, without a network, with hostile texts, for everybody."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from harness import api
from harness.config.run_config import load
from harness.report import html
from harness.report.document import Measure, Part, TableBlock
from harness.report.run_view import View
from harness.runs import runner
from harness.runs.outcomes import context_text
from harness.store import reader
from tests.support import small
from tests.support.browser import complaints, opened

PWN = "window.__pwned=1"
HOSTILE = [
    f"<script>{PWN}</script>",
    f"</script></pre></textarea><!-- <script>{PWN}</script>",
    f"<img src=x onerror={PWN}> <svg onload={PWN}> <a href='javascript:{PWN}'>a</a>",
    "$& $1 $` {{ 7 * 7 }} {% raw %} ${" + PWN + "} `" + PWN + "`",
    "\u202eright to left\u202c \u2067\u05d0\u05d1\u2069 🚲👩‍👩‍👧 e\u0301",
    "a null\x00byte and \u2028 a line \ufffe \x1b[31m",
]
TURNS = "[\u202a-\u202e\u2066-\u2069]"
LONG = "a line of fifty thousand characters 🚲 " * 1300
SETTINGS = {
    "chunkers": [{"fixed": {"size": 60_000}}, {"sentence": {"size": 300}}],
    "retrievers": ["bm25"],
    "retrieve": 30,
    "metrics": ["passage_recall@2", "ndcg@10", "token_f1"],
    "context": {"chunks": 3, "tokens": 20_000},
}


def unturned(text):
    """Return a text as the page shows it: nothing in it turns the direction of what follows."""
    return re.sub(TURNS, "\ufffd", text)


def hostile(folder):
    """Run a project whose every text is hostile; returns the run's folder."""
    documents = {
        f"{at} <img src=x onerror={PWN}>.md": f"# {text}\n\nEvil {text} number {at}.\n"
        for at, text in enumerate(HOSTILE)
    }
    documents["long.md"] = f"Evil {LONG}\n"
    questions = [
        {
            "id": f"q{at} {text}",
            "question": f"What is the evil {text}?",
            "answers": [f"It is {text}.", "evil"],
            "evidence": [{"doc": doc, "quote": f"number {at}."}],
            "category": f"kind {text}",
            "difficulty": text,
        }
        for at, (doc, text) in enumerate(zip(documents, HOSTILE, strict=False))
    ]
    path = small.project(folder, questions, **SETTINGS)
    for name, text in documents.items():
        (folder / "corpus" / name.replace("/", "∕")).write_text(text, encoding="utf-8")
    return api.run(runner.prepare(load(path, [], {})), lambda *_: None).folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The runs: made before the browser is there, as nothing may run beside it."""
    plain = small.project(tmp_path_factory.mktemp("plain"))
    finished = api.run(runner.prepare(load(plain, [], {})), lambda *_: None)
    return {"plain": finished.folder, "hostile": hostile(tmp_path_factory.mktemp("hostile"))}


@pytest.fixture(scope="module")
def plain(runs, browser):
    with opened(browser, runs["plain"] / "report.html") as page:
        yield page


@pytest.fixture(scope="module")
def evil(runs, browser):
    """The page of the hostile run with every question shown, and what the run holds."""
    with opened(browser, runs["hostile"] / "report.html") as page:
        yield page, reader.load(runs["hostile"])


def test_the_page_opens_from_disk_without_a_network_and_paints_at_once(plain, record_property):
    plain.wait_for_function("performance.getEntriesByName('first-paint').length > 0")
    painted = plain.evaluate("performance.getEntriesByName('first-paint')[0].startTime")
    record_property("first paint, ms", painted)

    assert plain.url.startswith("file:")
    assert painted < 3000
    plain.get_by_role("button", name="All 5").click()
    expect(plain.locator("#browser .asked")).to_have_count(5)
    assert plain.evaluate("performance.getEntriesByType('resource').length") == 0


def test_a_script_that_is_not_the_page_s_own_does_not_run(plain):
    plain.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.__pwned = 1";
          document.body.append(script);
          document.body.insertAdjacentHTML("beforeend", "<i onclick='window.__pwned = 1'></i>");
          document.body.lastChild.click();
        }"""
    )

    assert plain.evaluate("window.__pwned") is None
    refused = [complaint for complaint in complaints if "Content Security Policy" in complaint]
    assert len(refused) == 2
    complaints.clear()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_serious_violation_and_the_headings_in_order(runs, browser, width, theme):
    window = {"viewport": {"width": width, "height": 1000}, "color_scheme": theme}
    with opened(browser, runs["plain"] / "report.html", **window) as page:
        page.locator("#browser .asked").first.click()
        page.locator(".ranking .hit .handle").first.wait_for()
        page.locator(".detail details summary").first.click()
        found = Axe().run(page).response["violations"]

    grave = ("serious", "critical")
    serious = [each for each in found if each["impact"] in grave or each["id"] == "heading-order"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in serious] == []


def test_what_is_folded_opens_by_its_link_without_a_script_and_in_print(runs, browser):
    with opened(browser, runs["plain"] / "report.html", java_script_enabled=False) as page:
        glossary = page.locator("#glossary")
        expect(glossary).not_to_be_visible()
        page.locator("nav a[href='#glossary']").click()
        expect(glossary).to_be_visible()

        provenance = page.locator("#provenance")
        expect(provenance).not_to_be_visible()
        page.emulate_media(media="print")
        expect(provenance).to_be_visible()


def test_on_a_phone_each_drawn_score_has_a_row_of_its_own_and_room_for_its_figures(
    runs, browser, tmp_path
):
    scores = [Measure("0.52", 0.52, 0.45, 0.59), Measure("1.00", 1.0, 0.97, 1.0)]
    table = TableBlock(["Chunker", "n", "Any 5", "Found"], [["fixed", "9", *scores]], cards=True)
    view = View(reader.load(runs["plain"]))
    (tmp_path / "one.html").write_text(html.render(view, [Part("one", "One", [table], "One")]))
    with opened(browser, tmp_path / "one.html", viewport={"width": 390, "height": 800}) as page:
        cells = page.locator("td.score").evaluate_all("""all => all.map((cell) => {
          const [box, bar, figures] = [cell, ...cell.querySelectorAll(".bar, .figures")]
            .map((node) => node.getBoundingClientRect());
          return [box.top, box.bottom, bar.right, figures.left, figures.right, cell.scrollWidth];
        })""")

    assert cells[0][1] <= cells[1][0]
    assert all(bar <= left and right <= 374 for _, _, bar, left, right, _ in cells)


def test_a_click_on_a_heading_sorts_the_leaderboard_and_another_turns_it(plain):
    table = plain.locator("#leaderboard table.sortable").first
    heading = table.locator("th", has_text="token_f1")
    cells = table.locator("td[data-label='token_f1']")

    def values():
        return cells.evaluate_all("all => all.map((cell) => Number(cell.dataset.value))")

    heading.locator("button").click()
    first, said = values(), heading.get_attribute("aria-sort")
    heading.locator("button").click()
    second, turned = values(), heading.get_attribute("aria-sort")
    heading.locator("button").click()

    assert len(set(first)) > 1
    assert (first, said) == (sorted(first, reverse=True), "descending")
    assert (second, turned) == (sorted(first), "ascending")
    assert (values(), heading.get_attribute("aria-sort")) == (first, "descending")


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_texts_execute_nothing_and_are_all_there(evil, number):
    page, stored = evil
    question = list(stored.questions.values())[number]
    page.goto("about:blank")
    page.goto((stored.folder / "report.html").as_uri())
    page.get_by_role("button", name="All 6").click()
    row = page.locator("#browser tr.question").filter(has_text=f"q{number} ")
    row.locator("button.asked").click()
    page.locator(".ranking .hit").first.wait_for()
    for unfold in page.locator(".hit .unfold").all():
        unfold.click()
    for fold in page.locator(".detail details summary").all():
        fold.click()
    filled = "[...document.querySelectorAll('.detail details')].every((each) => each.children[1])"
    page.wait_for_function(filled)

    view = View(stored)
    focus = (view.shipped or view.best).name
    record = next(r for r in stored.records if (r.cell, r.question) == (focus, question.id))
    texts = page.locator(".hit-text").evaluate_all("all => all.map(node => node.textContent)")
    documents = page.locator(".hit .doc").evaluate_all("all => all.map(node => node.textContent)")
    detail = page.locator(".detail").evaluate("node => node.textContent")
    assert row.evaluate("node => node.textContent").count(unturned(question.text)) == 1
    assert documents == [unturned(hit.doc) for hit in record.hits]
    assert texts == [unturned(stored.texts[hit.doc, hit.start, hit.end]) for hit in record.hits]
    assert LONG in "".join(texts)
    for text in (record.answer, *question.answers, question.category, question.difficulty):
        assert unturned(text) in detail
    context = page.locator(".detail details", has_text="context").evaluate(
        "node => node.textContent"
    )
    assert all(
        unturned(text.strip()) in context
        for text in context_text(record, stored.texts).split("\n\n")
    )
    assert not re.search(TURNS, page.evaluate("document.body.innerText"))
    assert page.evaluate("window.__pwned") is None
    assert page.evaluate("[...document.scripts].filter((script) => !script.type).length") == 1
    assert page.locator("img, [onload], [onerror], a[href^=javascript]").count() == 0


def test_an_error_of_a_page_and_a_request_for_something_outside_are_complaints(browser):
    with opened(browser) as page:
        page.evaluate("console.error('broken')")
        page.evaluate("fetch('http://127.0.0.1:9/').catch(() => 0)")
        page.evaluate("setTimeout(() => { throw new Error('lost') })")
        page.wait_for_timeout(50)

    heard = " ".join(complaints)
    complaints.clear()
    assert "console: broken" in heard
    assert "request: http://127.0.0.1:9/" in heard
    assert "uncaught: lost" in heard
